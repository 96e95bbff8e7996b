import Foundation
import OpenURLBus
import Reactor
import Testing

@testable import DBus
@testable import URLRouter

/// A manager of services that starts them as its own children, and reports their ends as systemd does.
final class PlayedManager: Sendable {
    /// The manager's way with a service.
    enum Behaviour: Sendable {
        case starts
        case reportsNoExit
        case refuses(RemoteError)
        /// The service ends with an exit status before the program is executed.
        case fails(status: Int32)
        /// The same, but the manager says that the service is active, and how it ended only when it is asked.
        case failsLate(status: Int32)
        case isSilent
    }

    /// The services that it was asked for, and those that it was told to stop and to forget.
    let units: AsyncStream<TransientUnit>
    let stopped: AsyncStream<String>
    let released: AsyncStream<String>
    let changes: AsyncStream<UnitChange>
    /// Units of the started processes.
    let processes = Lock<[pid_t: String]>([:])
    /// Processes that the manager still has, by their units.
    private let main = Lock<[String: UInt32]>([:])
    private let connection: Connection

    /// The methods of the manager. They are set once, before anything calls them.
    private(set) nonisolated(unsafe) var members: [ExportedInterface.Member] = []

    init(_ connection: Connection, _ behaviour: Behaviour = .starts) {
        let (units, asked) = AsyncStream<TransientUnit>.makeStream()
        let (stopped, stops) = AsyncStream<String>.makeStream()
        let (released, releases) = AsyncStream<String>.makeStream()
        let (changes, change) = AsyncStream<UnitChange>.makeStream()
        (self.units, self.stopped, self.released, self.changes) = (units, stopped, released, changes)
        self.connection = connection
        members = [
            .method(SystemdManager.startTransientUnit) { [self] _, unit in
                asked.yield(unit)
                switch behaviour {
                case .refuses(let error): throw error
                case .isSilent: await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
                case .fails(let status):
                    let end: [String: Value] = ["ExecMainCode": .int32(1), "ExecMainStatus": .int32(status)]
                    try await report(unit, end.merging(["ExecMainPID": .uint32(1)]) { $1 }, "failed")
                case .failsLate(let status): try await failLate(unit, status)
                case .starts: try await start(unit, reportsExit: true)
                case .reportsNoExit: try await start(unit, reportsExit: false)
                }
                return "/org/freedesktop/systemd1/job/1"
            },
            .method(SystemdManager.stopUnit) { _, arguments in
                stops.yield(arguments.values.0)
                return "/org/freedesktop/systemd1/job/2"
            },
            .method(SystemdManager.unrefUnit) { _, name in
                releases.yield(name)
                return Empty()
            },
            .method(SystemdManager.setUnitProperties) { _, properties in
                change.yield(properties)
                return Empty()
            },
        ]
    }

    /// Takes the manager's name.
    func takeName() async throws {
        await connection.export([ExportedInterface(SystemdManager.interface, members)], at: SystemdManager.object.path)
        try #require(try await connection.requestName(SystemdManager.name) == .owned)
    }

    private func start(_ unit: TransientUnit, reportsExit: Bool) async throws {
        let properties = Dictionary(uniqueKeysWithValues: unit.properties.map { ($0.name, $0.value) })
        guard case .array(let commands, _)? = properties["ExecStartEx"], case .structure(let command)? = commands.first,
            case .string(let path) = command[0], case .unixFD(let output)? = properties["StandardOutputFileDescriptor"],
            case .string(let directory)? = properties["WorkingDirectory"]
        else { throw RemoteError("org.freedesktop.DBus.Error.InvalidArgs", "a property is missing") }
        // The manager has variables that no handler may get.
        let withheld = properties["UnsetEnvironment"]?.texts ?? []
        let own = ["INVOCATION_ID=1"].filter { entry in !withheld.contains { entry.hasPrefix("\($0)=") } }
        let environment = own + (properties["Environment"]?.texts ?? [])
        guard environment.allSatisfy({ !$0.hasPrefix("not a variable") }) else {
            throw RemoteError("org.freedesktop.DBus.Error.InvalidArgs", "Invalid environment block.")
        }
        let pid = try ProcessHandle.start(
            path,
            arguments: command[1].texts,
            environment: environment,
            directory: directory,
            output: output.rawValue
        )
        processes.withLock { $0[pid] = unit.name }
        main.withLock { $0[unit.name] = UInt32(pid) }
        let number = ExportedInterface.Member.property(SystemdManager.mainPID) { [main] in
            main.withLock { $0[unit.name] ?? 0 }
        }
        do {
            let object = try #require(ObjectPath(unit.path))
            await connection.export([ExportedInterface(SystemdManager.service, [number])], at: object)
            try await report(unit, ["ExecMainPID": .uint32(UInt32(pid))], "activating")
            try await report(unit, ["ExecMainPID": .uint32(UInt32(pid))], "active")
        } catch {
            ProcessHandle.end(child: pid)
            throw error
        }
        await watch(pid, of: unit, reportsExit)
    }

    private func failLate(_ unit: TransientUnit, _ status: Int32) async throws {
        let properties: [ExportedInterface.Member] = [
            .property(Property<Int32>(SystemdManager.service, "ExecMainCode")) { 1 },
            .property(Property<Int32>(SystemdManager.service, "ExecMainStatus")) { status },
        ]
        let object = try #require(ObjectPath(unit.path))
        await connection.export([ExportedInterface(SystemdManager.service, properties)], at: object)
        // No process has this number.
        try await report(unit, ["ExecMainPID": .uint32(UInt32(Int32.max))], "active")
    }

    private func watch(_ pid: pid_t, of unit: TransientUnit, _ reportsExit: Bool) async {
        await withTaskExecutorPreference(connection.loop) { begin(pid, unit, reportsExit) }
    }

    private func begin(_ pid: pid_t, _ unit: TransientUnit, _ reportsExit: Bool) {
        do {
            _ = try ProcessHandle(child: pid, on: connection.loop) { [self] exit in
                main.withLock { $0[unit.name] = nil }
                guard reportsExit else { return }
                let (code, status): (Int32, Int32) =
                    switch exit {
                    case .exited(let status): (1, status)
                    case .signalled(let signal): (2, signal)
                    case .unknown: (0, 0)
                    }
                Task {
                    let end: [String: Value] = ["ExecMainCode": .int32(code), "ExecMainStatus": .int32(status)]
                    try await report(unit, end, status == 0 ? "inactive" : "failed")
                }
            }
        } catch {
            Issue.record(error)
        }
    }

    /// Emits the changes of a service, and then the state of its unit.
    private func report(_ unit: TransientUnit, _ properties: [String: Value], _ state: String) async throws {
        let path = try #require(ObjectPath(unit.path))
        let changed = PropertiesInterface.changed
        try await connection.emit(changed, from: path, Arguments(SystemdManager.service.rawValue, properties, []))
        let unitInterface = "org.freedesktop.systemd1.Unit"
        try await connection.emit(changed, from: path, Arguments(unitInterface, ["ActiveState": .string(state)], []))
    }
}

extension Value {
    fileprivate var texts: [String] {
        guard case .array(let elements, _) = self else { return [] }
        return elements.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }
}
