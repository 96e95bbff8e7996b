import DBus
import Foundation
import Glibc
import OpenURLBus
import PrivateBus
import Reactor
import Synchronization
import TestSupport
import Testing

/// A real router process on a private bus, with handlers made for the test.
final class RouterProcess: Sendable {
    let bus: PrivateBus
    let connection: Connection
    private let process: ChildProcess
    /// The environment of the router, and of the routers that follow it.
    let environment: [String: String]

    /// The directory of the built products.
    static let products = Bundle.module.bundleURL.deletingLastPathComponent()

    /// The process ID of the first router.
    var pid: Int32 { process.processIdentifier }
    private let current = Mutex<Int32?>(nil)
    /// The process ID of the router that was started last.
    var currentPID: Int32 { current.withLock { $0 } ?? pid }

    func setCurrentPID(_ pid: Int32) { current.withLock { $0 = pid } }

    /// Writes the manifests of the handlers to the user's directory and starts the router.
    ///
    /// - Parameter handlers: The bundle identifiers with the arguments of the test handler. Each handler claims the
    ///   scheme that is the last element of its identifier.
    /// - Parameter wrapper: A program, by its path, that runs the router, and the arguments before the router's own
    ///   path.
    /// - Parameter variables: Variables of the router's environment that replace those of the bus.
    /// - Parameter isSecond: Whether the test has another router too.
    init(
        _ handlers: [String: [String]] = [:],
        wrapper: [String] = [],
        variables: [String: String] = [:],
        isSecond: Bool = false,
        prepare: (URL) throws -> Void = { _ in }
    ) async throws {
        bus = try await PrivateBus(isSecond: isSecond) { directory in
            let schemes = directory.appending(path: "XDG_DATA_DIRS/openurl")
            try FileManager.default.createDirectory(at: schemes, withIntermediateDirectories: true)
            try FileManager.default.copyItem(at: Self.schemes, to: schemes.appending(path: "handlers"))
            for (id, arguments) in handlers { try Self.write(id, arguments, in: directory) }
            try prepare(directory)
        }
        let connection = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
        self.connection = connection
        process = ChildProcess()
        let command = wrapper + [Self.products.appending(path: "openurld").path]
        process.executableURL = URL(filePath: command[0])
        process.arguments = Array(command.dropFirst())
        environment = bus.environment.merging(variables) { $1 }
        process.environment = environment
        // Handlers inherit this file as their standard error. They must not keep the test's own output open.
        let log = bus.directory.appending(path: "openurld.log")
        _ = FileManager.default.createFile(atPath: log.path, contents: nil)
        let errors = try FileHandle(forWritingTo: log)
        process.standardError = errors
        process.standardOutput = FileHandle.nullDevice
        try await Self.waitForOwner(of: RouterService.name, on: connection) { [process] in try process.run() }
        try errors.close()
    }

    private static let schemes = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Schemes").standardizedFileURL

    /// Writes a manifest for the test handler. On a busy machine, it may take longer to start than the router usually waits.
    static func write(
        _ id: String,
        _ arguments: [String],
        in directory: URL,
        extra: [String: Any] = [:]
    ) throws {
        var manifest: [String: Any] = [
            "CFBundleIdentifier": id,
            "CFBundleExecutable": products.appending(path: "testhandler").path,
            "OUArguments": [id, log(of: id, in: directory).path] + arguments,
            "CFBundleURLTypes": [
                ["CFBundleURLName": id, "CFBundleURLSchemes": [id.split(separator: ".").last.map(String.init) ?? ""]]
            ],
            "OULaunchTimeout": 60,
        ]
        manifest.merge(extra) { $1 }
        let data = try PropertyListSerialization.data(fromPropertyList: manifest, format: .xml, options: 0)
        let handlers = directory.appending(path: "XDG_DATA_HOME/openurl/handlers")
        try FileManager.default.createDirectory(at: handlers, withIntermediateDirectories: true)
        try data.write(to: handlers.appending(path: "\(id).plist"))
        guard arguments.contains(where: { $0 == "gate" || $0.hasPrefix("gate=") }) else { return }
        guard mkfifo("\(log(of: id, in: directory).path).gate", 0o600) == 0 else { throw POSIXError(.EIO) }
    }

    /// Lets a handler go through its `gate`, now or when it gets there; the gate is open as long as the result exists.
    func openGate(of id: String) -> FileHandle {
        let path = "\(Self.log(of: id, in: bus.directory).path).gate"
        return FileHandle(fileDescriptor: Glibc.open(path, O_RDWR | O_CLOEXEC), closeOnDealloc: true)
    }

    private static func log(of id: String, in directory: URL) -> URL { directory.appending(path: "\(id).log") }

    /// Returns the events of a handler so far.
    func log(of id: String) throws -> [String] {
        let url = Self.log(of: id, in: bus.directory)
        guard FileManager.default.fileExists(atPath: url.path) else { return [] }
        return try String(contentsOf: url, encoding: .utf8).split(separator: "\n").map(String.init)
    }

    /// Runs `body` and returns when the name has an owner.
    static func waitForOwner(
        of name: BusName,
        on connection: Connection,
        after body: () throws -> Void
    ) async throws {
        let (owners, continuation) = AsyncStream<BusName?>.makeStream()
        let watch = try await connection.watchName(name) { _, new in continuation.yield(new) }
        try body()
        continuation.yield(try await connection.owner(of: name))
        for await owner in owners where owner != nil { break }
        try await connection.unwatchName(watch)
    }

    /// Starts a test handler by hand, as a person does in a shell, and returns when it owns its name. The process ends with
    /// the bus.
    ///
    /// - Parameter address: The bus that the handler connects to, if it is not the router's.
    func startByHand(_ id: String, _ arguments: [String] = [], bus address: String? = nil) async throws -> Int32 {
        let process = ChildProcess()
        process.executableURL = Self.products.appending(path: "testhandler")
        process.arguments = [id, Self.log(of: id, in: bus.directory).path] + arguments
        process.environment = bus.environment
        if let address { process.environment?["DBUS_SESSION_BUS_ADDRESS"] = address }
        process.standardError = FileHandle.nullDevice
        try await Self.waitForOwner(of: #require(BusName(id)), on: connection) { try process.run() }
        return process.processIdentifier
    }

    /// Returns a signal of the router, from now on.
    func subscribed<Body: MessageBody & Sendable>(_ signal: Signal<Body>) async throws -> SignalSequence<Body> {
        let signals = try await connection.signals(signal, matching: MatchRule(sender: RouterService.name))
        try await connection.call(RouterInterface.subscribe, on: RouterService.object, Empty())
        return signals
    }

    func open(_ url: String, _ options: OpenOptions = OpenOptions()) async throws(CallError) -> OpenResult {
        try await connection.call(
            RouterInterface.openURL,
            on: RouterService.object,
            SentURL(url, options),
            timeout: .seconds(60)
        )
    }

    /// Opens a URL and returns the error of the outcome.
    func failure(_ url: String, _ options: OpenOptions = OpenOptions()) async throws -> OpenURLError {
        do {
            let result = try await open(url, options)
            Issue.record("\(url) was opened by \(result.handler)")
            return OpenURLError(.noHandler, "")
        } catch {
            guard case .remote(let error) = error else { throw error }
            return try #require(OpenURLError(error), "\(error)")
        }
    }

    /// Ends the bus, and with the bus the router and every handler.
    func stop() {
        bus.stop()
    }

    /// Asks the router to terminate and returns its exit status.
    func terminate() async -> Int32 {
        await withCheckedContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            process.terminate()
        }
    }
}
