internal import Glibc
internal import Logging
internal import Processes
internal import Reactor
internal import UserFiles

/// The daemon's process.
public enum DaemonProcess {
    /// Prints an answer, and returns whether it was written as a whole. The reason for a failure goes to standard error, unless
    /// nobody reads the answer any longer.
    private static func print(_ answer: CommandLineAnswer) -> Bool {
        do throws(FileError) {
            try UserFiles.write(Array(answer.text.utf8)[...], to: answer.descriptor)
            return true
        } catch {
            guard error != FileError(code: EPIPE) else { return false }
            let message = Array("openurl: standard output: \(error.reason)\n".utf8)
            // If this fails too, only the status is left.
            _ = write(STDERR_FILENO, message, message.count)
            return false
        }
    }

    /// Serves the session bus until a signal arrives or the connection ends. Call this on the main thread.
    ///
    /// - Parameter arguments: the arguments after the program's name.
    public static func run(_ arguments: [String]) -> Never {
        StandardStreams.reserve()
        if let answer = CommandLineAnswer(arguments) {
            exit(print(answer) || answer.status != 0 ? answer.status : EX_IOERR)
        }

        DescriptorLimit.raise()
        HeapThresholds.fix()
        // The parent may have ignored SIGCHLD. The kernel would then forget the handlers' processes before the router
        // sees how they ended.
        signal(SIGCHLD, SIG_DFL)
        // The handlers inherit this, as do systemd services: if the journal that a handler writes to has ended, the
        // handler gets EPIPE instead of a signal.
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
            // All that blocks or computes for long has a thread of its own.
            loop.takeGlobalJobs()
            let assembly = LiveAssembly(
                environment: environment,
                installation: Installation(),
                loop: loop,
                log: log
            )
            let daemon = Daemon(assembly, log: log, end: { exit($0) })
            // From here on, the main thread runs the loop, so nothing may wait for the main actor.
            loop.runOnCurrentThread(beginning: {
                Task { exit(await daemon.serve()) }
            })
        } catch {
            log.error("cannot create the event loop: \(error)")
        }
        exit(EXIT_FAILURE)
    }
}
