import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Reactor
import Release
import Testing

@testable import Doctor

/// A session with a bus, on which this process takes the place of the router, of systemd and of the portal.
final class StandInSession: Sendable {
    /// The answers of the router.
    struct Answers: Sendable {
        /// The router's version; nil for an error.
        var version: String? = Version.current
        var handlers = [StandInSession.entry("com.example.note", ["note"])]
        var states: [HandlerStatus] = []
        var explanation: (@Sendable (String) -> Explanation)?
        var queue: [QueuedURL] = []
        var log: [MonitorEntry] = []
        var rules: [PolicyRule] = []
        var problems: [String] = []
        var answers: [PolicyAnswer] = []
        var proofs: [LinkProof] = []
        /// The methods and properties that answer with an error.
        var failing: Set<String> = []
        /// The variables of systemd's manager.
        var variables: [String] = []
        /// The choices that the portal remembers for the scheme `note`, by application.
        var choices: [String: [String]] = [:]
        /// The data of the choices.
        var choiceData: Value = .byte(0)
    }

    let bus: PrivateBus
    private let connection: Connection
    private let answers: Lock<Answers>
    private let noted = Lock<[String]>([])

    /// Starts a bus.
    ///
    /// - Parameters:
    ///   - names: the names that this process takes.
    ///   - activatable: the names for which the bus has a service file, whose program fails.
    init(
        _ names: [BusName] = [RouterService.name],
        activatable: [BusName] = [RouterService.name],
        _ answers: Answers = Answers()
    ) async throws {
        bus = try await PrivateBus { directory in
            let services = directory.appending(path: "XDG_DATA_HOME/dbus-1/services")
            try FileManager.default.createDirectory(at: services, withIntermediateDirectories: true)
            for name in activatable {
                let text = "[D-BUS Service]\nName=\(name)\nExec=/bin/false\n"
                try Data(text.utf8).write(to: services.appending(path: "\(name).service"))
            }
        }
        self.answers = Lock(answers)
        connection = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
        await connection.export([router, registry, lifecycle, queue, monitor, policy, proofs], at: RouterService.path)
        await connection.export([manager], at: SystemdManager.object.path)
        await connection.export([store], at: PermissionStore.object.path)
        for name in names { _ = try await connection.requestName(name) }
    }

    func stop() { bus.stop() }

    /// The calls that change something, in order.
    var calls: [String] { noted.withLock { $0 } }

    /// A registered handler, as the router lists it.
    static func entry(
        _ id: String,
        _ schemes: [String],
        temporary: Reported<TemporaryRegistration> = .absent
    ) -> HandlerEntry {
        var entry = HandlerEntry(
            id: id,
            name: id,
            executable: id,
            schemes: schemes,
            kind: .known(.native),
            isFixed: false,
            state: .known(.notRunning),
            warnings: []
        )
        entry.temporary = temporary
        return entry
    }

    // MARK: The examination

    /// Examines a session's files and this bus, on a thread of its own: the calls block it.
    func findings(
        in session: ExaminedSession,
        about topic: String? = nil,
        commandVersion: String = Version.current,
        installation: InstalledFiles? = nil,
        startsRouter: Bool = false,
        probes: Bool = false
    ) async throws -> [Finding] {
        let (address, files) = (bus.address, session.files(installation: installation))
        let about = try topic.map { try #require(Topic($0, files)) }
        return try await onThread {
            Result {
                var bus = try SessionBus(.address(address))
                if startsRouter { bus.startRouter() }
                let evidence = Evidence(files, .success(bus), topic: about, commandVersion: commandVersion)
                return Examination(of: evidence, probing: probes).findings.all
            }
        }.get()
    }

    /// Performs a repair on a thread of its own.
    func perform(_ repair: Repair, environment: [String: String] = [:]) async throws -> String {
        let address = bus.address
        return try await onThread {
            Result { try repair.perform(try SessionBus(.address(address)), environment: environment) }
        }.get()
    }

    // MARK: The objects

    private func answer<Content>(_ method: String, _ content: (Answers) -> Content) throws -> Content {
        let answers = answers.withLock { $0 }
        guard !answers.failing.contains(method) else { throw RemoteError(.failed, "\(method) fails") }
        return content(answers)
    }

    private func note(_ call: String) { noted.withLock { $0.append(call) } }

    private var router: ExportedInterface {
        let hasVersion = answers.withLock { $0.version != nil }
        return ExportedInterface(
            RouterInterface.name,
            [
                .method(RouterInterface.explain) { _, input in
                    let url = input.values.0
                    return try self.answer("Explain") { $0.explanation?(url) ?? Explanation(url: url) }
                }
            ] + (hasVersion ? [.property(RouterInterface.version) { self.answers.withLock { $0.version ?? "" } }] : [])
        )
    }

    private var registry: ExportedInterface {
        ExportedInterface(
            RegistryInterface.name,
            [
                .method(RegistryInterface.listHandlers) { _, _ in try self.answer("ListHandlers", \.handlers) },
                .method(RegistryInterface.reload) { _, _ in
                    self.note("reload")
                    return try self.answer("Reload") { _ in [:] }
                },
            ]
        )
    }

    private var lifecycle: ExportedInterface {
        ExportedInterface(
            LifecycleInterface.name,
            [
                .method(LifecycleInterface.list) { _, _ in try self.answer("List", \.states) },
                .method(LifecycleInterface.reset) { _, id in
                    self.note("reset \(id)")
                    return try self.answer("Reset") { _ in Empty() }
                },
            ]
        )
    }

    private var queue: ExportedInterface {
        ExportedInterface(
            QueueInterface.name,
            [
                // A page holds two URLs, so that a list has several pages.
                .method(QueueInterface.list) { _, after in
                    let urls = try self.answer("Queue", \.queue)
                    let rest = urls.drop { !after.isEmpty && $0.id != after }.dropFirst(after.isEmpty ? 0 : 1)
                    return Array(rest.prefix(2))
                }
            ]
        )
    }

    private var monitor: ExportedInterface {
        ExportedInterface(
            MonitorInterface.name,
            [
                .method(MonitorInterface.log) { _, filter in
                    let matching = try self.answer("Log", \.log).filter(filter.matches)
                    return Array(matching.sorted { $0.time > $1.time }.prefix(2))
                }
            ]
        )
    }

    private var policy: ExportedInterface {
        ExportedInterface(
            PolicyInterface.name,
            [
                .method(PolicyInterface.rules) { _, _ in try self.answer("Rules") { Arguments($0.rules, $0.problems) }
                },
                .method(PolicyInterface.answers) { _, _ in try self.answer("Answers", \.answers) },
            ]
        )
    }

    private var proofs: ExportedInterface {
        ExportedInterface(
            ProofsInterface.name,
            [.method(ProofsInterface.list) { _, _ in try self.answer("Proofs", \.proofs) }]
        )
    }

    private var manager: ExportedInterface {
        let interface: InterfaceName = "org.freedesktop.systemd1.Manager"
        return ExportedInterface(
            interface,
            [
                .property(Property<[String]>(interface, "Environment")) { self.answers.withLock { $0.variables } },
                .method(SystemdManager.setEnvironment) { _, variables in
                    self.note("systemd \(variables.sorted().joined(separator: " "))")
                    return Empty()
                },
            ]
        )
    }

    private var store: ExportedInterface {
        ExportedInterface(
            "org.freedesktop.impl.portal.PermissionStore",
            [
                .method(PermissionStore.lookup) { _, input in
                    let (table, type) = input.values
                    guard table == PermissionStore.table, type == "x-scheme-handler/note" else {
                        throw RemoteError("org.freedesktop.portal.Error.NotFound", "there is no entry for \(type)")
                    }
                    return self.answers.withLock { Arguments($0.choices, $0.choiceData) }
                }
            ]
        )
    }
}

/// Runs a function that blocks on a thread of its own, because tests share few threads.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: body()) }
    }
}
