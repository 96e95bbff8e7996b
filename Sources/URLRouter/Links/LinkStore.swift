internal import Links
public import Logging
public import Reactor
internal import UserFiles

/// The rules for links as they were read.
struct LinkSnapshot: Sendable {
    /// The number of this snapshot. If another one has a greater number, this one is stale.
    let number: Int
    let rules: LinkRules
}

/// Reads and writes the files of rules for links.
///
/// Because this blocks, the store has its own thread.
public actor LinkStore {
    private let files: LinkFiles
    private let loop: EventLoop
    private let log: Logger
    private var number = 0
    private var problems = RuleProblems()

    /// This store's own thread as the actor's executor.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Finds this user's files: `$XDG_CONFIG_HOME/openurl/links.conf` and `/etc/openurl/links.d`.
    ///
    /// - Parameter loop: A loop whose thread may block.
    public init(environment: [String: String], on loop: EventLoop, log: Logger) {
        self.init(LinkFiles(environment: environment), on: loop, log: log)
    }

    init(_ files: LinkFiles, on loop: EventLoop, log: Logger) {
        self.files = files
        self.loop = loop
        self.log = log
    }

    /// The paths of the files. When these files change, the rules may change.
    nonisolated var paths: Set<String> { files.paths }

    /// Reads the rules.
    func read() -> LinkSnapshot {
        let (rules, diagnostics) = files.read()
        number += 1
        problems.report(diagnostics, to: log)
        return LinkSnapshot(number: number, rules: rules)
    }

    /// Adds a rule to the user's file, above another rule, and reads the rules again.
    func insert(_ rule: String, above other: LinkRule?) throws(FileWriteError) -> LinkSnapshot {
        try files.change { $0.insert(rule, above: other) }
        return read()
    }
}
