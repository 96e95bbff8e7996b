internal import DBus
internal import Glibc
internal import Logging
internal import MQTT
internal import OpenURLBus
internal import Reactor
internal import Release
internal import SystemPackage
internal import UserFiles

/// The process of `openurl-bridge`.
package enum BridgeProcess {
    /// Serves until a signal arrives or the session bus ends. Call this on the main thread.
    ///
    /// - Parameter arguments: the arguments after the program's name.
    package static func run(_ arguments: [String]) -> Never {
        if arguments == ["--version"] {
            print("openurl-bridge \(Version.current)")
            exit(EXIT_SUCCESS)
        }
        guard arguments.count <= 1, arguments.first?.hasPrefix("-") != true else {
            fail("usage: openurl-bridge [--version | FILE]", EX_USAGE)
        }
        var variables: [String: String] = [:]
        for name in ["HOME", "XDG_CONFIG_HOME"] { variables[name] = getenv(name).map { String(cString: $0) } }
        let directory = BaseDirectories(environment: variables).configurationHome
        guard let path = arguments.first ?? directory.map({ "\($0)/openurl/bridge.conf" }) else {
            fail("there is no directory for the configuration; set HOME or XDG_CONFIG_HOME", EX_CONFIG)
        }
        signal(SIGPIPE, SIG_IGN)
        let log = Logger(label: "openurl-bridge") { StreamLogHandler.standardError(label: $0) }
        do {
            let configuration = try BridgeConfiguration(file: path)
            let loop = try EventLoop()
            loop.takeGlobalJobs()
            loop.runOnCurrentThread {
                Task { exit(await serve(configuration, on: loop, log)) }
            }
        } catch let problem as BridgeProblem {
            fail("\(problem)", EX_CONFIG)
        } catch {
            fail("\(error)", EXIT_FAILURE)
        }
        exit(EXIT_FAILURE)
    }

    private static func fail(_ message: String, _ status: CInt) -> Never {
        let text = Array("openurl-bridge: \(message)\n".utf8)
        _ = write(STDERR_FILENO, text, text.count)
        exit(status)
    }

    private static func serve(_ configuration: BridgeConfiguration, on loop: EventLoop, _ log: Logger) async -> CInt {
        do {
            let connection = try await Connection.open(on: loop)
            let bridge = Bridge(configuration, on: connection, log: log)
            let isEnding = Lock(false)
            try await loop.run {
                try SignalWatch.start([SIGINT, SIGTERM], on: loop) { _ in
                    isEnding.withLock { $0 = true }
                    Task {
                        await bridge.stop()
                        await connection.close()
                    }
                }
            }
            try await bridge.start()
            await connection.waitUntilClosed()
            if isEnding.withLock({ $0 }) { return EXIT_SUCCESS }
            log.notice("the session bus is gone")
        } catch {
            log.error("\(error)")
        }
        return EXIT_FAILURE
    }
}
