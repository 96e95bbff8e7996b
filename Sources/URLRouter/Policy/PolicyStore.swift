internal import ByteCoding
public import Logging
internal import Policy
public import Reactor
internal import UserFiles

/// The rules as they were read.
struct PolicySnapshot: Sendable {
    /// The number of this snapshot. If another one has a greater number, this one is stale.
    let number: Int
    let rules: PolicyRules
    /// Problems in the files, one line of text for each.
    let problems: [String]
}

/// Reads and writes the files of rules and remembered answers.
///
/// Because this blocks, the store has its own thread.
public actor PolicyStore {
    private static let answersName = "answers"

    private let files: PolicyFiles
    /// The directory for the answers' file; nil if the environment gives none.
    private let answersDirectory: String?
    private let loop: EventLoop
    private let log: Logger
    private var number = 0
    private var problems = RuleProblems()

    /// This store's own thread as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Finds this user's files: the rules in `/etc/openurl/policy.d` and `$XDG_CONFIG_HOME/openurl/policy.conf`, and
    /// the answers in `$XDG_STATE_HOME/openurl/answers`.
    ///
    /// - Parameter loop: A loop whose thread may block.
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

    /// The paths of the files with rules. When these files change, the rules may change.
    nonisolated var paths: Set<String> { files.paths }

    /// Reads the rules.
    func read() -> PolicySnapshot {
        let (rules, diagnostics) = files.read()
        number += 1
        return PolicySnapshot(number: number, rules: rules, problems: problems.report(diagnostics, to: log))
    }

    /// Changes the user's file, and reads the rules again.
    func change(_ change: @Sendable (inout PolicyText) -> Void) throws(FileWriteError) -> PolicySnapshot {
        try files.change(change)
        return read()
    }

    // MARK: Answers

    /// Reads the remembered answers. If they cannot be read, they are forgotten.
    func answers() -> RememberedAnswers {
        guard let answersDirectory else { return RememberedAnswers() }
        do throws(FileError) {
            let directory = try PrivateDirectory(answersDirectory)
            let bytes = try directory.contents(of: Self.answersName, limit: RememberedAnswers.maximumSize)
            let text = String(decoding: bytes, as: UTF8.self)
            guard !text.hasTooManyMarks else {
                throw FileError("has more than \(String.maximumMarks) combining marks in a row")
            }
            return RememberedAnswers(text: text)
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
            try directory.replace(Self.answersName, with: Array(answers.text.utf8), isDurable: true)
        } catch {
            warnOfAnswers(error)
        }
    }

    private func warnOfAnswers(_ error: FileError) {
        log.warning("the remembered answers in \(printable(answersDirectory ?? "")) cannot be used: \(error)")
    }
}
