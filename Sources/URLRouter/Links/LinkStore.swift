internal import Links
internal import Logging
internal import Policy
internal import Reactor
internal import UserFiles

/// Reads and writes the files of rules for links.
///
/// Because this blocks, the store has its own thread.
actor LinkStore {
    private var rules: RuleReader<LinkFiles>
    private let loop: EventLoop
    /// The paths of the files. When these files change, the rules may change.
    nonisolated let paths: Set<String>

    /// This store's own thread as the actor's executor.
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Finds this user's files: `$XDG_CONFIG_HOME/openurl/links.conf` and `/etc/openurl/links.d`.
    ///
    /// - Parameter loop: A loop whose thread may block.
    init(environment: [String: String], on loop: EventLoop, log: Logger) {
        self.init(LinkFiles(environment: environment), on: loop, log: log)
    }

    init(_ files: LinkFiles, on loop: EventLoop, log: Logger) {
        rules = RuleReader(files, log: log)
        paths = files.files.paths
        self.loop = loop
    }

    /// Reads the rules.
    func read() -> RuleSnapshot<LinkRules> { rules.read() }

    /// Adds a rule to the user's file, above another rule, and reads the rules again.
    func insert(_ rule: String, above other: LinkRule?) throws(FileWriteError) -> RuleSnapshot<LinkRules> {
        try rules.source.change { $0.insert(rule, above: other) }
        return read()
    }
}
