internal import Glibc
internal import Logging
internal import Reactor

/// The daemon's process.
public enum DaemonProcess {
    /// Serves the session bus until a signal or the end of the bus ends the process. Call it on the main thread.
    ///
    /// - Parameter arguments: the arguments after the program's name.
    public static func run(_ arguments: [String]) -> Never {
        if let answer = CommandLineAnswer(arguments) {
            let text = Array(answer.text.utf8)
            _ = write(answer.descriptor, text, text.count)
            exit(answer.status)
        }

        DescriptorLimit.raise()
        HeapThresholds.fix()
        // The process may have inherited that SIGCHLD is ignored. The kernel would then forget the handlers' processes
        // before the router sees how they ended.
        signal(SIGCHLD, SIG_DFL)
        // The handlers inherit this, as services of systemd do: a handler whose journal has ended gets EPIPE, and does not end.
        signal(SIGPIPE, SIG_IGN)

        let environment = ProcessEnvironment.variables(environ)
        let isJournal = LineLogHandler.isStream(environment["JOURNAL_STREAM"], STDERR_FILENO)
        let output = LogOutput(STDERR_FILENO) { missing in
            "\(isJournal ? "<4>" : "")\(missing) lines of the log are missing, because nothing read them in time\n"
        }
        LoggingSystem.bootstrap { label in
            EscapingLogHandler(LineLogHandler(isJournal ? .journal : .text(label: label)) { output.write($0) })
        }
        let log = Logger(label: "openurld")
        do {
            let loop = try EventLoop()
            let assembly = LiveAssembly(
                environment: environment,
                installation: Installation(),
                loop: loop,
                log: log
            )
            let daemon = Daemon(assembly, log: log, executor: loop, end: { exit($0) })
            // The main thread runs the loop from here on, so nothing may wait for the main actor.
            loop.runOnCurrentThread(beginning: {
                Task(executorPreference: loop) { exit(await daemon.serve()) }
            })
        } catch {
            log.error("the event loop cannot be created: \(error)")
        }
        exit(EXIT_FAILURE)
    }
}
