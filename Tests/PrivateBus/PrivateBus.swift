public import Foundation
public import Reactor
import Synchronization

/// A session bus for one test: a real `dbus-daemon` with private directories, so that a test never touches the user's
/// bus.
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
    private let process: Process
    private let place: Place
    private let loops = Lock<[EventLoop]>([])

    /// The environment for programs on this bus: the test's own environment, with the address and the directories of
    /// this bus.
    public var environment: [String: String] {
        Self.environment(in: directory).merging(["DBUS_SESSION_BUS_ADDRESS": address]) { $1 }
    }

    private static func environment(in directory: URL) -> [String: String] {
        var environment = ProcessInfo.processInfo.environment
        for name in ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"] {
            environment[name] = directory.appending(path: name).path
        }
        environment["XDG_DATA_DIRS"] = directory.appending(path: "XDG_DATA_DIRS").path
        environment["HOME"] = directory.path
        for name in ["DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "OPENURL_LAUNCH"] {
            environment[name] = nil
        }
        return environment
    }

    /// Starts a bus. The initializer waits while too many other buses run.
    ///
    /// - Parameters:
    ///   - rules: Elements of the configuration (dbus-daemon(1)) for a bus that is not configured like a user's.
    ///   - prepare: A closure that puts files in place before the bus reads them, such as service files.
    public init(rules: String? = nil, prepare: (_ directory: URL) throws -> Void = { _ in }) async throws {
        place = await Place.take()
        directory = FileManager.default.temporaryDirectory.appending(path: "openurl-\(UUID().uuidString)")
        for (name, path) in Self.environment(in: directory)
        where name.hasPrefix("XDG_") && path.hasPrefix(directory.path) {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        }
        try prepare(directory)
        var configuration = "--session"
        if let rules {
            let file = directory.appending(path: "bus.conf")
            try Data(Self.configuration(rules).utf8).write(to: file)
            configuration = "--config-file=\(file.path)"
        }
        process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [
            "timeout", "--signal=KILL", "600", "setpriv", "--pdeathsig", "KILL",
            "dbus-daemon", configuration, "--address=unix:dir=\(directory.path)", "--nofork", "--nopidfile",
            "--print-address=1", "--print-pid=1",
        ]
        process.environment = Self.environment(in: directory)
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        var text = ""
        while text.split(separator: "\n").count < 2 || !text.hasSuffix("\n") {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { throw CocoaError(.fileReadUnknown) }
            text += String(decoding: data, as: UTF8.self)
        }
        try output.fileHandleForReading.close()
        let lines = text.split(separator: "\n")
        address = String(lines[0])
        pid = Int32(lines[1]) ?? 0
    }

    private static func configuration(_ rules: String) -> String {
        """
        <busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><auth>EXTERNAL</auth>
        <policy context="default"><allow send_destination="*"/><allow eavesdrop="true"/><allow own="*"/></policy>
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
        for loop in loops.withLock({ $0 }) { loop.stop() }
        kill(pid, SIGKILL)
        // A `Process` object of Foundation keeps itself alive until a caller has waited for its end.
        process.waitUntilExit()
        do {
            try FileManager.default.removeItem(at: directory)
        } catch {
            // A program that is still ending may write into the directory while this code removes it. The remaining
            // files are in the system's temporary folder, so the failure does no harm.
        }
        place.giveBack()
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
