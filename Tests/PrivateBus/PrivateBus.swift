public import Foundation
public import Reactor
import Synchronization
import TestSupport

/// A session bus for one test: a real `dbus-daemon` with private directories, so that a test never touches the user's
/// bus.
///
/// Neither the bus nor its programs find the services, the desktop entries and the settings of this machine, so a test has
/// one result whatever packages are installed.
///
/// The bus ends with ``stop()``, with the test's process, or after ten minutes, whichever comes first. Every connected
/// program loses its connection when the bus ends.
public final class PrivateBus: Sendable {
    /// The bus's address, for `DBUS_SESSION_BUS_ADDRESS`.
    public let address: String
    /// The process ID of the bus.
    public let pid: Int32
    /// The directory of the bus, which ``stop()`` removes.
    public let directory: URL
    private let process: ChildProcess
    /// Nil for a second bus.
    private let place: Place?
    private let loops = Lock<[EventLoop]>([])

    /// The environment for programs on this bus: the test's own environment without the variables of a desktop, with the
    /// address and the directories of this bus.
    public var environment: [String: String] {
        Self.environment(in: directory).merging(["DBUS_SESSION_BUS_ADDRESS": address]) { $1 }
    }

    private static func environment(in directory: URL) -> [String: String] {
        var environment = ProcessInfo.processInfo.environment.filter { name, _ in
            !desktopVariables.contains(name) && !desktopPrefixes.contains(where: name.hasPrefix)
        }
        for name in directories { environment[name] = directory.appending(path: name).path }
        environment["HOME"] = directory.path
        // Otherwise, programs would find the machine's system bus.
        environment["DBUS_SYSTEM_BUS_ADDRESS"] = "unix:path=\(directory.path)/no-system-bus"
        // The output of the tests' handlers stays out of the user's journal.
        environment["OPENURL_JOURNAL"] = "\(directory.path)/no-journal"
        return environment
    }

    /// The variables of the XDG Base Directory Specification; each directory has the name of its variable.
    private static let directories = [
        "XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_CACHE_HOME", "XDG_STATE_HOME",
        "XDG_RUNTIME_DIR",
    ]
    /// The variables by which programs of the desktop find their session, their settings and each other.
    private static let desktopVariables: Set = ["BROWSER", "DESKTOP_SESSION", "DISPLAY", "WAYLAND_DISPLAY"]
    private static let desktopPrefixes = ["DBUS_", "GNOME_", "GTK_", "KDE_", "MATE_", "OPENURL_", "QT_", "XDG_"]

    /// Starts a bus. The initializer waits while too many other buses run.
    ///
    /// - Parameters:
    ///   - rules: Elements of the configuration (dbus-daemon(1)) that follow those of a user's bus.
    ///   - isSecond: Whether the test has another bus too. Such a bus does not wait, because tests that each have one bus and
    ///     wait for another would wait for each other.
    ///   - prepare: A closure that puts files in place before the bus reads them, such as service files.
    public init(
        rules: String = "",
        isSecond: Bool = false,
        prepare: (_ directory: URL) throws -> Void = { _ in }
    ) async throws {
        place = isSecond ? nil : await Place.take()
        directory = FileManager.default.temporaryDirectory.appending(path: "openurl-\(UUID().uuidString)")
        for name in Self.directories {
            try FileManager.default.createDirectory(
                at: directory.appending(path: name),
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        }
        try prepare(directory)
        let configuration = directory.appending(path: "bus.conf")
        try Data(Self.configuration(in: directory, rules).utf8).write(to: configuration)
        process = ChildProcess()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "timeout", "--signal=KILL", "600", "setpriv", "--pdeathsig", "KILL",
            "dbus-daemon", "--config-file=\(configuration.path)", "--nofork", "--nopidfile", "--print-address=1",
            "--print-pid=1",
        ]
        process.environment = Self.environment(in: directory)
        let output = Pipe()
        process.standardOutput = output
        // Hundreds of its warnings, such as the one about its limit of descriptors, would hide the tests' results.
        let log = directory.appending(path: "dbus-daemon.log")
        _ = FileManager.default.createFile(atPath: log.path, contents: nil)
        let errors = try FileHandle(forWritingTo: log)
        process.standardError = errors
        try process.run()
        try errors.close()
        var text = ""
        while text.split(separator: "\n").count < 2 || !text.hasSuffix("\n") {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw StartError(description: try String(contentsOf: log, encoding: .utf8)) }
            text += String(decoding: data, as: UTF8.self)
        }
        try output.fileHandleForReading.close()
        let lines = text.split(separator: "\n")
        guard let number = Int32(lines[1]) else { throw StartError(description: text) }
        address = String(lines[0])
        pid = number
    }

    /// Why a bus did not start, in its own words.
    private struct StartError: Error, CustomStringConvertible {
        let description: String
    }

    /// The configuration of a user's bus, `session.conf` of dbus-daemon, with other directories of services.
    ///
    /// The element `standard_session_servicedirs` of that file would add the directory of this machine, whatever
    /// `XDG_DATA_DIRS` says.
    private static func configuration(in directory: URL, _ rules: String) -> String {
        let services = ["XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_DATA_DIRS"].map { name in
            "<servicedir>\(directory.appending(path: name).path)/dbus-1/services</servicedir>"
        }
        let limits = [
            "max_incoming_bytes": 1_000_000_000, "max_incoming_unix_fds": 250_000_000,
            "max_outgoing_bytes": 1_000_000_000, "max_outgoing_unix_fds": 250_000_000,
            "max_message_size": 1_000_000_000, "service_start_timeout": 120_000, "auth_timeout": 240_000,
            "pending_fd_timeout": 150_000, "max_completed_connections": 100_000, "max_incomplete_connections": 10_000,
            "max_connections_per_user": 100_000, "max_pending_service_starts": 10_000,
            "max_names_per_connection": 50_000, "max_match_rules_per_connection": 50_000,
            "max_replies_per_connection": 50_000,
        ]
        return """
            <busconfig><type>session</type><keep_umask/><listen>unix:dir=\(directory.path)</listen><auth>EXTERNAL</auth>
            \(services.joined())
            <policy context="default">
            <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
            </policy>
            \(limits.map { "<limit name='\($0)'>\($1)</limit>" }.joined())
            \(rules)</busconfig>
            """
    }

    /// Creates an event loop for a connection of the test. The loop ends with the bus.
    public func makeLoop() throws -> EventLoop {
        let loop = try EventLoop()
        loops.withLock { $0.append(loop) }
        return loop
    }

    /// Ends the bus and the loops of ``makeLoop()``, and removes the directory.
    public func stop() {
        // After the end of the bus, its number may belong to another process.
        if process.isRunning { kill(pid, SIGKILL) }
        process.waitUntilExit()
        for loop in loops.withLock({ $0 }) { Self.end(loop) }
        do {
            try FileManager.default.removeItem(at: directory)
        } catch {
            // A program that is still ending may write into the directory while this code removes it. The remaining
            // files are in the system's temporary folder, so the failure does no harm.
        }
        place?.giveBack()
    }
}

extension PrivateBus {
    /// Stops a loop after some turns, in which its connections notice the end of the bus and close their descriptors.
    private static func end(_ loop: EventLoop, turns: Int = 16) {
        loop.execute {
            loop.schedule(at: .now) { turns > 0 ? end(loop, turns: turns - 1) : loop.stop() }
        }
    }
}

/// A permit for one of the buses that may run at the same time.
///
/// All tests start together. Each bus takes one of the 128 inotify instances of a user, and so does a router on the
/// bus.
private final class Place: Sendable {
    private struct Places {
        var free = 16
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private static let places = Lock(Places())
    private let isTaken = Atomic(true)

    static func take() async -> Place {
        await withCheckedContinuation { continuation in
            let isFree = places.withLock { places in
                guard places.free > 0 else {
                    places.waiting.append(continuation)
                    return false
                }
                places.free -= 1
                return true
            }
            if isFree { continuation.resume() }
        }
        return Place()
    }

    deinit {
        giveBack()
    }

    func giveBack() {
        guard isTaken.exchange(false, ordering: .relaxed) else { return }
        let next = Self.places.withLock { places in
            if places.waiting.isEmpty { places.free += 1 }
            return places.waiting.isEmpty ? nil : places.waiting.removeFirst()
        }
        next?.resume()
    }
}
