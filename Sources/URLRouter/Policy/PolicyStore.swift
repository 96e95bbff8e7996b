internal import ByteCoding
internal import Logging
internal import Policy
internal import Reactor
internal import UserFiles

/// Reads and writes the files of rules and remembered answers.
///
/// Because this blocks, the store has its own thread.
actor PolicyStore {
    private static let answersName = "answers"

    private var rules: RuleReader<PolicyFiles>
    /// The directory for the answers' file; nil if the environment gives none.
    private let answersDirectory: String?
    private let loop: EventLoop
    private let log: Logger
    /// Why the answers could not be used the last time.
    private var answersProblem: FileError?
    /// The paths of the files with rules. When these files change, the rules may change.
    nonisolated let paths: Set<String>

    /// This store's own thread as the actor's executor.
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Finds this user's files: the rules in `/etc/openurl/policy.d` and `$XDG_CONFIG_HOME/openurl/policy.conf`, and
    /// the answers in `$XDG_STATE_HOME/openurl/answers`.
    ///
    /// - Parameter loop: A loop whose thread may block.
    init(environment: [String: String], on loop: EventLoop, log: Logger) {
        self.init(
            PolicyFiles(environment: environment),
            answersDirectory: BaseDirectories(environment: environment).stateHome.map { "\($0)/openurl" },
            on: loop,
            log: log
        )
    }

    init(_ files: PolicyFiles, answersDirectory: String?, on loop: EventLoop, log: Logger) {
        rules = RuleReader(files, log: log)
        paths = files.files.paths
        self.answersDirectory = answersDirectory
        self.loop = loop
        self.log = log
    }

    // MARK: Rules

    /// Reads the rules.
    func read() -> RuleSnapshot<PolicyRules> { rules.read() }

    /// Changes the user's file, and reads the rules again.
    func change(_ change: @Sendable (inout PolicyText) -> Void) throws(FileWriteError) -> RuleSnapshot<PolicyRules> {
        try rules.source.change(change)
        return read()
    }

    // MARK: Answers

    /// Reads the remembered answers. If they cannot be read, they are forgotten.
    ///
    /// - Returns: nil if a shortage of descriptors or memory prevents this.
    func answers() -> RememberedAnswers? {
        guard let answersDirectory else { return RememberedAnswers() }
        do throws(FileError) {
            let directory = try PrivateDirectory(answersDirectory)
            let bytes = try directory.contents(of: Self.answersName, limit: RememberedAnswers.maximumSize)
            let text = String(decoding: bytes, as: UTF8.self)
            guard !text.hasTooManyMarks else {
                throw FileError("has more than \(String.maximumMarks) combining marks in a row")
            }
            answersProblem = nil
            return RememberedAnswers(text: text)
        } catch {
            if !error.isAbsence { warnOfAnswers(error) }
            return error.isShortage ? nil : RememberedAnswers()
        }
    }

    /// Writes the remembered answers.
    func save(_ answers: RememberedAnswers) {
        guard let answersDirectory else { return }
        do throws(FileError) {
            let directory = try PrivateDirectory(answersDirectory, isMade: true)
            try directory.replace(Self.answersName, with: Array(answers.text.utf8), isDurable: true)
            answersProblem = nil
        } catch {
            warnOfAnswers(error)
        }
    }

    private func warnOfAnswers(_ error: FileError) {
        guard error != answersProblem else { return }
        answersProblem = error
        log.warning("the remembered answers in \(printable(answersDirectory ?? "")) cannot be used: \(error)")
    }
}
