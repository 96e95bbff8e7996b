internal import CLinux
internal import DBus
internal import Glibc
internal import OpenURLBus
internal import Processes
internal import Reactor
internal import Relay
internal import SystemPackage
internal import Translations
internal import URLOpener
internal import UserFiles

/// Starts, lists and ends the shares of containers.
struct ShareOperation {
    private let invocation: Invocation
    private let runtimeDirectory: String

    /// The directory with all shares, in `$XDG_RUNTIME_DIR/openurl`.
    private static let place = "shares"
    /// The line that a share in the background prints when it takes requests.
    private static let readyLine = "ready"
    /// How long a share may take to start, or to end, in milliseconds.
    private static let time: CInt = 10_000

    init(_ invocation: Invocation) throws(CommandFailure) {
        self.invocation = invocation
        runtimeDirectory = try RunningRelay.runtimeDirectory(invocation)
    }

    /// Returns whether a text can be the name of a share: of a directory, and of a source in the policy.
    static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.first != "." && text.first != "-"
            && text.unicodeScalars.allSatisfy { scalar in
                scalar.isASCII && (scalar.properties.isAlphabetic || "0123456789._-".unicodeScalars.contains(scalar))
            }
    }

    private func path(of name: String) -> String { "\(runtimeDirectory)/openurl/\(Self.place)/\(name)" }

    // MARK: Serving

    /// Serves a share until a signal ends it.
    func serve(_ name: String) throws(CommandFailure) -> Int32 {
        let place = "\(Self.place)/\(name)"
        let relay = try RunningRelay(place, "container:\(name)", for: .container, in: runtimeDirectory, invocation)
        defer { relay.directory.remove(keepingDirectory: true) }
        try relay.addClient()
        // The program that started this one may have stopped reading.
        signal(SIGPIPE, SIG_IGN)
        var failure: CommandFailure?
        // These closures run on the loop, which is this thread.
        nonisolated(unsafe) let note = { failure = $0 as CommandFailure }
        let output = invocation.output
        nonisolated(unsafe) let ready = {
            output.print(Self.readyLine)
            output.flush()
        }
        let (loop, server, router) = (relay.loop, relay.server, relay.router)
        loop.runOnCurrentThread {
            do throws(Errno) {
                try SignalWatch.start([SIGINT, SIGTERM, SIGHUP], on: loop) { _ in loop.stop() }
            } catch {
                let reason = systemErrorText(error.rawValue)
                let message = translated("signals cannot be watched: \(reason)")
                note(CommandFailure(OpenURLError(.launchFailed, message)))
                return loop.stop()
            }
            server.assumeIsolated { $0.start() }
            // A share ends with its session.
            loop.startTask {
                do throws(OpenURLError) {
                    try await router.waitForEndOfBus { loop.execute { ready() } }
                } catch {
                    let message = translated("the session bus cannot be reached: \(error.message)")
                    loop.execute { note(CommandFailure(.failed, message, exitStatus: ExitStatus.unavailable)) }
                }
                loop.stop()
            }
        }
        if let failure { throw failure }
        return 0
    }

    /// Prints how to show a share in its container. If the share does not run yet, starts it in the background.
    func start(_ name: String, _ engine: ContainerEngine) throws(CommandFailure) -> Int32 {
        if listener(of: name) == nil { try startInBackground(name) }
        for line in engine.lines(path(of: name), name) { invocation.output.print(line) }
        return 0
    }

    private func startInBackground(_ name: String) throws(CommandFailure) {
        let arguments = ["openurl-command", "share", "--foreground", name]
        let program = try PipedProgram("/proc/self/exe", arguments, inNewSession: true, takesErrors: true)
        let text = program.readLine(within: Self.time)
        guard text == Self.readyLine else {
            // Otherwise, a slow one would serve the share later.
            program.end(within: 0)
            let rest = text.map { $0.hasPrefix("openurl: ") ? String($0.dropFirst("openurl: ".count)) : $0 }
            let reason = rest ?? translated("it did not start in time")
            throw CommandFailure(
                OpenURLError(.launchFailed, translated("the share \(name) has not started: \(reason)"))
            )
        }
        program.release()
    }

    // MARK: Shares that run

    /// Prints the names of the shares.
    func list() -> Int32 {
        for name in names where listener(of: name) != nil { invocation.output.print(name) }
        return 0
    }

    private var names: [String] {
        do throws(FileError) {
            return try PrivateDirectory("\(runtimeDirectory)/openurl/\(Self.place)", depth: 2).names()
        } catch {
            // There has been no share since the login.
            return []
        }
    }

    /// Ends a share, and returns when it has ended.
    func stop(_ name: String) throws(CommandFailure) -> Int32 {
        guard let process = listener(of: name) else {
            let message = translated("there is no share \(name); 'openurl share' lists the shares")
            throw CommandFailure(.failed, message, exitStatus: ExitStatus.failure)
        }
        let descriptor = pidfd_open(process, 0)
        guard descriptor >= 0 else { return 0 }
        defer { close(descriptor) }
        // The process may have ended by now, and its number may belong to another one.
        guard listener(of: name) == process else { return 0 }
        _ = pidfd_send_signal(descriptor, SIGTERM, nil, 0)
        var end = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&end, 1, Self.time) == 1 else {
            let message = translated("the share \(name) has not ended in time; its process is \(process)")
            throw CommandFailure(.failed, message, exitStatus: ExitStatus.failure)
        }
        return 0
    }

    /// Returns the process that serves a share; nil if none does. A container that may write to the directory can listen
    /// there itself, so only a process of this program counts.
    private func listener(of name: String) -> pid_t? {
        guard let process = ShareDirectory.listener(at: path(of: name)),
            Self.program(of: UInt32(bitPattern: process)) == Self.program(of: UInt32(getpid()))
        else { return nil }
        return process
    }

    private static func program(of pid: UInt32) -> String? {
        ProcessProgram.path(pid: pid).map(ProcessProgram.withoutMark)
    }
}
