import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Reactor

/// A stand-in for the router, on a private bus. The scheme of a URL decides the answer.
///
/// | URL | answer |
/// |---|---|
/// | `ok:` | opened; the reply holds the options as they arrived |
/// | `error:CODE`, `http:CODE` | the ``OpenURLError`` with the code |
/// | `bus:NAME` | the D-Bus error with the name |
/// | `values:` | opened; the reply holds a value of each type |
/// | `odd:` | opened, with text with controls, which must not reach a terminal |
/// | `slow:` | opened after a request for the schemes |
/// | `die:` | none: the stand-in leaves the bus |
actor StandInRouter {
    static var entry: HandlerEntry {
        var entry = HandlerEntry(
            id: "com.acme.todolist",
            name: "To\tdo",
            executable: "todolist",
            schemes: ["todolist", "todo"],
            kind: .known(.native),
            isFixed: false,
            state: .known(.active),
            warnings: []
        )
        entry.manifest = "/opt/todolist.plist"
        entry.reach = .known(.local)
        return entry
    }

    static let trace = [
        TracePhase("willFinishLaunching", microseconds: 749),
        TracePhase("didFinishLaunching", microseconds: 12_350, answer: false),
    ]

    private static let values: [String: Value] = [
        "array": .array([.byte(0), .byte(255)], of: "y"),
        "boolean": true,
        "dictionary": .dictionary([.uint16(2): .int16(-2), .uint16(1): .int16(-1)], key: "q", value: "n"),
        "finite": .double(0.5),
        "infinite": .double(-.infinity),
        "int32": .int32(.min),
        "int64": .int64(.min),
        "nan": .double(.nan),
        "path": .objectPath("/a"),
        "signature": .signature("a{sv}"),
        "string": .string("\u{9B}2J \"\\/ü"),
        "structure": .structure([.uint32(.max), .uint64(.max)]),
        "variant": .variant(.variant("inner")),
    ]

    nonisolated let bus: PrivateBus
    private let connection: Connection
    private var schemesWereAsked = false
    private var waiters: [CheckedContinuation<Void, Never>] = []
    /// Whether every page of the queue is the first one.
    private var hasEndlessQueue = false
    private(set) var registered: [String] = []
    private(set) var unregistered: [String] = []
    private(set) var lifecycleCalls: [String] = []
    /// The user's default handlers, by scheme.
    var defaults: [String: String] = [:]
    /// Every choice in order, as `scheme=id`.
    var choices: [String] = []

    /// The command takes this process for the router. The bus does not know the service, and never starts this process.
    nonisolated var environment: [String: String] {
        CLITests.environment(bus.environment).merging(["XDG_DATA_HOME": data.path]) { $1 }
    }

    private nonisolated var data: URL { bus.directory.appending(path: "command") }

    /// The file with the output of `com.acme.todolist`, which does not exist yet.
    nonisolated var outputFile: URL { data.appending(path: "com.acme.todolist.log") }

    /// The place of a handler's output: a file, the journal, or neither.
    private nonisolated func outputPlace(of id: String) throws -> OutputPlace {
        switch id {
        case "com.acme.todolist": return OutputPlace(file: outputFile.path)
        case "com.acme.idle": return OutputPlace(journal: id)
        case "com.acme.byhand":
            var place = OutputPlace(file: outputFile.path)
            place.isElsewhere = true
            return place
        case "com.acme.lost": return OutputPlace()
        case "com.acme.ended": return OutputPlace(file: outputFile.path)
        default: throw OpenURLError(.noHandler, "no handler is registered as \(id)")
        }
    }

    init() async throws {
        bus = try await PrivateBus { directory in
            let services = directory.appending(path: "command/dbus-1/services")
            try FileManager.default.createDirectory(at: services, withIntermediateDirectories: true)
            let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().path
            try "[D-BUS Service]\nName=org.openurl.Router1\nExec=\"\(program)\" --x\n"
                .write(to: services.appending(path: "org.openurl.Router1.service"), atomically: true, encoding: .utf8)
        }
        connection = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
        await connection.export(
            [router, registry, lifecycle, queue, notifications, tasks, monitor, proofs],
            at: RouterService.path
        )
        _ = try await connection.requestName(RouterService.name)
    }

    /// Runs a test with a new stand-in.
    static func with(_ body: (StandInRouter) async throws -> Void) async throws {
        let router = try await StandInRouter()
        defer { router.bus.stop() }
        try await body(router)
    }

    private nonisolated var router: ExportedInterface {
        ExportedInterface(
            RouterInterface.name,
            [
                .method(RouterInterface.openURL) { _, input in
                    try await self.open(input.url, input.options)
                },
                .method(RouterInterface.canOpenURL) { _, url in
                    if url.hasPrefix("error:") { throw OpenURLError(.malformedURL, "at byte offset 3: told") }
                    return url.hasPrefix("ok:")
                },
                .method(RouterInterface.explain) { _, input in
                    try await self.explain(input.values.0, input.values.1)
                },
                .property(RouterInterface.version) { "1.2.3" },
            ]
        )
    }

    private static func findings(_ path: String) -> [ManifestFinding] {
        switch path {
        case "com.acme.good": []
        case "com.acme.bad": [ManifestFinding(.error, file: nil, message: "is neither a bundle nor a manifest")]
        default:
            [
                ManifestFinding(.warning, file: path, line: 7, key: "OUReech", message: "is not a known key"),
                ManifestFinding(.warning, file: nil, message: "todo belongs to com.acme.other"),
            ]
        }
    }

    private nonisolated var registry: ExportedInterface {
        ExportedInterface(
            RegistryInterface.name,
            [
                .method(RegistryInterface.register) { _, path in try await self.register(path) },
                .method(RegistryInterface.replace) { _, path in try await self.register("replace \(path)") },
                .method(RegistryInterface.check) { _, path in Self.findings(path) },
                .method(RegistryInterface.unregister) { _, id in
                    guard id == Self.entry.id else { throw RemoteError(.failed, "there is no \(id)") }
                    await self.unregister(id)
                    return Empty()
                },
                .method(RegistryInterface.setDefault) { _, input in
                    try await self.setDefault(input.values.0, input.values.1)
                    return Empty()
                },
                .method(RegistryInterface.listHandlers) { _, _ in [Self.entry] },
                .method(RegistryInterface.reload) { _, _ in
                    ["/b.plist": "is empty\nis old", "/a\u{1B}.plist": "is a FIFO"]
                },
                .method(RegistryInterface.listSchemes) { _, _ in
                    await self.answerSlowOnes()
                    return ["slow": ["com.acme.slow", "com.acme.other"], "ok": ["com.acme.todolist"]]
                },
            ]
        )
    }

    private nonisolated var lifecycle: ExportedInterface {
        ExportedInterface(
            LifecycleInterface.name,
            [
                .method(LifecycleInterface.list) { _, _ in
                    var idle = HandlerStatus(id: "com.acme.idle", state: .known(.notRunning))
                    idle.quarantinedUntil = 86_400
                    return [
                        HandlerStatus(
                            id: "com.acme.todolist",
                            state: .known(.active),
                            pid: 42,
                            since: 86_400,
                            residentMemory: 12_897_485
                        ),
                        idle,
                    ]
                },
                .method(LifecycleInterface.output) { _, id in try self.outputPlace(of: id) },
                asked("reset", LifecycleInterface.reset), asked("activate", LifecycleInterface.activate),
                asked("wake", LifecycleInterface.wake),
                asked("background", LifecycleInterface.background), asked("suspend", LifecycleInterface.suspend),
                asked("resume", LifecycleInterface.resume), asked("terminate", LifecycleInterface.terminate),
            ]
        )
    }

    private nonisolated var queue: ExportedInterface {
        ExportedInterface(
            QueueInterface.name,
            [
                .method(QueueInterface.list) { _, after in
                    if after == "8", await !self.hasEndlessQueue { return [] }
                    var failed = self.queuedURL("7", "ok:\u{1B}x", .waiting, attempts: 2)
                    failed.next = 86_401
                    failed.error = RemoteError(OpenURLError.Code.launchFailed.errorName, "it did not start")
                    return [failed, self.queuedURL("8", "ok:y", .dead, attempts: 8)]
                },
                .method(QueueInterface.wait) { _, id in
                    if id == "97" { throw RemoteError(.failed, "the queue cannot be used") }
                    if id == "98" { throw RemoteError(.invalidArguments, "there is no URL '98' in the queue") }
                    if id == "99" { try await Task.sleep(for: .seconds(600)) }
                    return OpenResult(handler: "com.acme.ok", way: .active, reply: ["text": "hello"], trace: [])
                },
                askedOfQueue("retry", QueueInterface.retry), askedOfQueue("drop", QueueInterface.drop),
            ]
        )
    }

    private nonisolated var notifications: ExportedInterface {
        ExportedInterface(
            NotificationsInterface.name,
            [
                .method(NotificationsInterface.list) { _, id in
                    guard ["", "com.acme.ok", "com.acme.busy"].contains(id) else { return [] }
                    var tea = LocalNotification("Tea\n\u{1B}[2J", at: .instant(milliseconds: 86_401_000))
                    tea.url = "ok:x?secret"
                    tea.userInfo = ["key": "secret"]
                    return [tea.scheduled(as: "tea").listed(of: "com.acme.ok", next: 86_401)]
                },
                .method(NotificationsInterface.cancel) { _, input in
                    let (id, identifier) = input.values
                    await self.note("cancel \(id) \(identifier)")
                    return Empty()
                },
                asked("cancel all", NotificationsInterface.cancelAll),
            ]
        )
    }

    private nonisolated var tasks: ExportedInterface {
        ExportedInterface(
            TasksInterface.name,
            [
                .method(TasksInterface.list) { _, _ in
                    var sync = ScheduledTask(handler: "com.acme.ok", name: "sync\u{1B}", next: 86_401_000)
                    sync.interval = 5_400_000
                    sync.requirements = [.externalPower, .network]
                    var fetch = ScheduledTask(handler: "com.acme.todolist", name: "fetch", next: 86_400_000)
                    fetch.state = .known(.waiting)
                    fetch.requirements = [.network, .idle]
                    fetch.unmet = [.idle]
                    fetch.failures = 2
                    fetch.error = RemoteError(OpenURLError.Code.declined.errorName, "no room")
                    return [sync, fetch]
                },
                .method(TasksInterface.cancel) { _, input in
                    await self.note("cancel \(input.values.0) \(input.values.1)")
                    return Empty()
                },
                .method(TasksInterface.run) { _, input in
                    switch input.values.1 {
                    case "late": throw OpenURLError(.timedOut, "it did not return")
                    case let name: return Reported(rawValue: name)
                    }
                },
            ]
        )
    }

    /// The log has a request from a program without an identifier. The handler `com.acme.ended` has two, of which the earlier
    /// one ended later.
    private nonisolated var monitor: ExportedInterface {
        ExportedInterface(
            MonitorInterface.name,
            [
                .method(MonitorInterface.log) { _, filter in
                    if filter.handler == "com.acme.ended" {
                        return [
                            Self.failure(at: 2, after: 1, "it began last"),
                            Self.failure(at: 1, after: 9, "it ended last"),
                        ]
                    }
                    var entry = MonitorEntry(time: 86_400_000_000, kind: .open)
                    entry.pid = 7
                    entry.url = "ok:x"
                    entry.handler = "com.acme.viewer"
                    entry.microseconds = 1000
                    entry.way = .known(.launched)
                    return filter.matches(entry) ? [entry] : []
                }
            ]
        )
    }

    private static func failure(at time: UInt64, after microseconds: UInt64, _ message: String) -> MonitorEntry {
        var entry = MonitorEntry(time: time, kind: .open)
        entry.microseconds = microseconds
        entry.error = RemoteError(.failed, message)
        return entry
    }

    private nonisolated var proofs: ExportedInterface {
        ExportedInterface(
            ProofsInterface.name,
            [
                .method(ProofsInterface.fetch) { _, _ in Empty() },
                .method(ProofsInterface.list) { _, _ in
                    var proof = LinkProof(handler: "com.acme.todolist", host: "a.example", manifest: "/opt/a.plist")
                    proof.problem = "the site told \u{1B}[31m"
                    return [proof]
                },
            ]
        )
    }

    private nonisolated func queuedURL(
        _ id: String,
        _ url: String,
        _ state: QueuedURL.State,
        attempts: UInt32
    ) -> QueuedURL {
        QueuedURL(id: id, url: url, handler: "com.acme.ok", state: state, attempts: attempts, accepted: 86_400)
    }

    private nonisolated func askedOfQueue(_ word: String, _ method: Method<String, Empty>) -> ExportedInterface.Member {
        .method(method) { _, id in
            guard id != "97" else { throw RemoteError(.failed, "the queue cannot be used") }
            guard id != "98" else { throw RemoteError(.invalidArguments, "there is no URL '\(id)' in the queue") }
            await self.note("\(word) \(id)")
            return Empty()
        }
    }

    /// Returns a method of the lifecycle that records its calls. The handler `com.acme.busy` refuses the call.
    private nonisolated func asked(_ word: String, _ method: Method<String, Empty>) -> ExportedInterface.Member {
        .method(method) { _, id in
            await self.note("\(word) \(id)")
            guard id != "com.acme.busy" else { throw OpenURLError(.notAllowed, "com.acme.busy is busy") }
            return Empty()
        }
    }

    private func note(_ text: String) {
        lifecycleCalls.append(text)
    }

    private func open(_ url: String, _ options: OpenOptions) async throws -> OpenResult {
        let parts = url.split(separator: ":", maxSplits: 1).map(String.init)
        let argument = parts.count > 1 ? parts[1] : ""
        switch parts[0].lowercased() {
        case "error", "http":
            throw OpenURLError(OpenURLError.Code(rawValue: argument) ?? .declined, "com.acme.todolist \u{1B}[31mtold")
        case "bus": throw RemoteError(ErrorName(argument) ?? .failed, "the bus told")
        case "odd": return OpenResult(handler: "com.acme.\u{202E}odd", way: .launched, reply: [:], trace: [])
        case "values": return OpenResult(handler: "com.acme.todolist", way: .fallback, reply: Self.values, trace: [])
        case "slow": await waitForQuestion()
        case "die":
            await connection.close()
        default: break
        }
        if options.isQueued {
            var result = OpenResult(handler: "com.acme.todolist", way: .queued, reply: [:], trace: [])
            result.id = "12"
            return result
        }
        var reply: [String: Value] = ["fallback": .array(options.fallback.map(Value.string), of: "s")]
        reply["annotation"] = options.annotation
        reply["handler"] = options.handler.map(Value.string)
        reply["milliseconds"] = options.timeout.map {
            .int64($0.components.seconds * 1000 + $0.components.attoseconds / 1_000_000_000_000_000)
        }
        reply["token"] = options.activationToken.map(Value.string)
        reply["startup"] = options.desktopStartupID.map(Value.string)
        return OpenResult(handler: "com.acme.todolist", way: .active, reply: reply, trace: Self.trace)
    }

    private func waitForQuestion() async {
        guard !schemesWereAsked else { return }
        await withCheckedContinuation { waiters.append($0) }
    }

    private func answerSlowOnes() {
        schemesWereAsked = true
        for waiter in waiters { waiter.resume() }
        waiters = []
    }

    func makeQueueEndless() { hasEndlessQueue = true }

    private func register(_ path: String) throws -> HandlerEntry {
        guard !path.hasSuffix("missing") else { throw RemoteError(.failed, "there is no \(path)") }
        registered.append(path)
        var entry = Self.entry
        entry.manifest = path
        entry.warnings = ["todo belongs to com.acme.other"]
        return entry
    }

    private func unregister(_ id: String) {
        unregistered.append(id)
    }
}
