internal import Glibc
public import Logging
internal import Policy
public import Reactor
internal import SystemPackage
internal import UserFiles

/// The rules as they were read.
struct PolicySnapshot: Sendable {
    /// The number of the reading. A snapshot with a smaller number is stale.
    let number: Int
    let rules: PolicyRules
    /// The problems of the files, a line of text each.
    let problems: [String]
}

/// The files of the policy and of the remembered answers: reads them, writes them, and follows the changes of the rules.
///
/// Reading and writing files blocks, so the store has a thread of its own.
public actor PolicyStore {
    /// The time without a change after which a burst of changes is read.
    private static let quiet = Duration.milliseconds(100)
    /// The time after the first change of a burst at which the changes are read in any case.
    private static let limit = Duration.milliseconds(500)
    private static let answersName = "answers"

    private let files: PolicyFiles
    /// The directory of the file of answers; nil if the environment gives none.
    private let answersDirectory: String?
    private let loop: EventLoop
    private let log: Logger
    private var number = 0
    private var problems: Set<String> = []
    private var watch: PathWatch?

    /// The store's own thread as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The store of this user: the rules in `/etc/openurl/policy.d` and `$XDG_CONFIG_HOME/openurl/policy.conf`, and the answers in
    /// `$XDG_STATE_HOME/openurl/answers`.
    ///
    /// - Parameter loop: a loop whose thread may block.
    public init(environment: [String: String], on loop: EventLoop, log: Logger) {
        self.init(
            PolicyFiles(environment: environment),
            answersDirectory: BaseDirectories(environment: environment).stateHome.map { "\($0)/openurl" },
            on: loop,
            log: log
        )
    }

    init(_ files: PolicyFiles, answersDirectory: String?, on loop: EventLoop, log: Logger) {
        self.files = files
        self.answersDirectory = answersDirectory
        self.loop = loop
        self.log = log
    }

    // MARK: Rules

    /// Reads the rules.
    func read() -> PolicySnapshot {
        let (rules, diagnostics) = files.read()
        number += 1
        let current = diagnostics.map(\.description)
        for problem in current where !problems.contains(problem) { log.warning("\(problem)") }
        problems = Set(current)
        return PolicySnapshot(number: number, rules: rules, problems: current)
    }

    /// Changes the user's file, and reads the rules again.
    func change(_ change: @Sendable (inout PolicyText) -> Void) throws(FileWriteError) -> PolicySnapshot {
        try files.change(change)
        return read()
    }

    /// Reads the rules again after every change of their files.
    func follow(_ onChange: @escaping @Sendable (PolicySnapshot) async -> Void) {
        do throws(Errno) {
            let changes = Debouncer(on: loop, quiet: Self.quiet, limit: Self.limit) { [weak self, loop] in
                guard let snapshot = self?.assumeIsolated({ $0.read() }) else { return }
                Task(executorPreference: loop) { await onChange(snapshot) }
            }
            let watch = try PathWatch(on: loop) { changes.signal() }
            watch.paths = files.paths
            self.watch = watch
            // A file may have changed between the first reading and the watching.
            changes.signal()
        } catch {
            log.warning("changes of the policy are not noticed: inotify_init1: \(error)")
        }
    }

    // MARK: Answers

    /// Reads the remembered answers. Answers that cannot be read are forgotten.
    func answers() -> RememberedAnswers {
        guard let answersDirectory else { return RememberedAnswers() }
        do throws(FileError) {
            let directory = try PrivateDirectory(answersDirectory)
            let bytes = try directory.contents(of: Self.answersName, limit: RememberedAnswers.maximumSize)
            return RememberedAnswers(text: String(decoding: bytes, as: UTF8.self))
        } catch {
            if !error.isAbsence { warnOfAnswers(error) }
            return RememberedAnswers()
        }
    }

    /// Writes the remembered answers.
    func save(_ answers: RememberedAnswers) {
        guard let answersDirectory else { return }
        do throws(FileError) {
            let directory = try PrivateDirectory(answersDirectory, isMade: true)
            try directory.replace(Self.answersName, with: Array(answers.text.utf8))
        } catch {
            warnOfAnswers(error)
        }
    }

    private func warnOfAnswers(_ error: FileError) {
        log.warning("the remembered answers in \(printable(answersDirectory ?? "")) cannot be used: \(error)")
    }
}
