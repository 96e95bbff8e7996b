internal import DBus
internal import Desktop
internal import Glibc
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage
internal import UserFiles

/// Starts the processes of handlers and applications, and watches processes that this router did not start.
struct HandlerLauncher: Sendable {
    let session: SessionEnvironment
    let loop: EventLoop
    let output: HandlerOutput
    /// Nil without a bus to reach systemd's manager.
    let scopes: ProcessScopes?
    /// Nil without a directory for the records.
    var records: ProcessRecords?
    /// The unique name of the router; nil without a bus.
    var router: BusName?
    /// The decision of a unit test, whose handlers are no processes.
    var examine: (@Sendable (HandlerLauncher, UInt32?, Handler) -> OwnerClaim?)?

    /// The variables of the session; every process gets them.
    var environment: [String: String] { session.assumeIsolated { $0.variables } }

    /// Starts a handler that waits for its first message.
    ///
    /// - Parameters:
    ///   - additional: the variables that the handler gets together with those of the session and the manifest.
    ///   - caller: the process that asked for it, if there is one.
    /// - Throws: `OpenURLError` with the code `launchFailed` and the reason.
    func launch(
        _ handler: Handler,
        _ additional: [String: String] = [:],
        for caller: UInt32?,
        onExit: @escaping (ProcessExit) -> Void
    ) throws(OpenURLError) -> StartedProcess {
        let id = handler.id
        guard let program = handler.program else {
            throw OpenURLError(.launchFailed, "\(id) has no executable of its own")
        }
        var environment = CallerDisplay.complete(environment, from: caller)
            .merging(handler.manifest.environment) { $1 }.merging(additional) { $1 }
        environment[HandlerInterface.launchVariable] = router?.rawValue ?? "1"
        environment[HandlerInterface.reachVariable] = handler.manifest.reach.rawValue
        let path: String
        do throws(Errno) {
            path = try self.path(of: program, environment)
        } catch {
            throw Self.failure(of: handler, program, error)
        }
        try Self.checkTrust(ofProgram: path, of: id)
        do throws(Errno) {
            let process = try start(
                id.rawValue,
                file: id.rawValue,
                path,
                [program.description] + handler.manifest.arguments,
                environment,
                directory: Self.directory(environment)
            ) { exit in
                records?.removeEnded(id)
                onExit(exit)
            }
            records?.add(process.handle.pid, of: id)
            return process
        } catch {
            throw Self.failure(of: handler, program, error)
        }
    }

    private static func failure(of handler: Handler, _ program: Handler.Program, _ error: Errno) -> OpenURLError {
        OpenURLError(
            .launchFailed,
            "\(handler.id) cannot be started: \(program): \(error); check CFBundleExecutable in \(handler.path)"
        )
    }

    /// Checks that no other user can change a program, with a few calls of lstat(2).
    ///
    /// - Throws: `launchFailed` with the command that corrects it.
    static func checkTrust(ofProgram path: String, of id: BundleIdentifier) throws(OpenURLError) {
        do throws(FileError) {
            var trust = TrustedPaths()
            try trust.check(path)
        } catch {
            // The start itself reports a program that does not exist.
            guard !error.isAbsence else { return }
            throw OpenURLError(.launchFailed, "\(id) is not started: \(printable(path)) \(error)")
        }
    }

    /// Starts a command of an application: a path or a name on `PATH`, and its arguments.
    ///
    /// - Parameters:
    ///   - id: the application's identifier, without the `.desktop` of its entry.
    ///   - caller: the process that asked for it, if there is one.
    func launch(
        _ id: String,
        _ arguments: [String],
        _ additional: [String: String],
        for caller: UInt32?,
        directory: String?,
        onExit: @escaping (ProcessExit) -> Void
    ) throws(Errno) -> StartedProcess {
        guard let program = arguments.first else { throw .invalidArgument }
        let environment = CallerDisplay.complete(environment, from: caller).merging(additional) { $1 }
        return try start(
            id,
            // The last line of a handler must not be that of a command.
            file: id + DesktopFileID.suffix,
            program.contains("/") ? program : try path(ofProgramNamed: program, environment),
            arguments,
            environment,
            directory: directory ?? Self.directory(environment),
            onExit: onExit
        )
    }

    private func start(
        _ id: String,
        file: String,
        _ path: String,
        _ arguments: [String],
        _ environment: [String: String],
        directory: String,
        onExit: @escaping (ProcessExit) -> Void
    ) throws(Errno) -> StartedProcess {
        let (descriptor, place) = try output.open(for: id, file: file)
        defer { close(descriptor) }
        let process: ProcessHandle
        do throws(Errno) {
            process = try ProcessHandle.spawn(
                path,
                arguments: arguments,
                environment: environment.map { "\($0)=\($1)" },
                directory: directory,
                output: descriptor,
                on: loop
            ) { [output] exit in
                output.processEnded(file, isOwn: true)
                onExit(exit)
            }
        } catch {
            output.processEnded(file, isOwn: true)
            throw error
        }
        if let scopes {
            let pid = process.pid
            Task(executorPreference: loop) { await scopes.add(pid, id: id) }
        }
        return StartedProcess(handle: process, output: place)
    }

    /// The terminal emulator for a command that needs a terminal, with its arguments.
    var terminal: [String] {
        get throws(OpenURLError) {
            for terminal in [["xdg-terminal-exec"], ["x-terminal-emulator", "-e"]] {
                do throws(Errno) {
                    _ = try path(ofProgramNamed: terminal[0], environment)
                    return terminal
                } catch {
                    continue
                }
            }
            throw OpenURLError(
                .launchFailed,
                "the application needs a terminal, and neither xdg-terminal-exec nor x-terminal-emulator is installed"
            )
        }
    }

    private static func directory(_ environment: [String: String]) -> String {
        environment["HOME"].flatMap { access($0, X_OK) == 0 ? $0 : nil } ?? "/"
    }

    private func path(of program: Handler.Program, _ environment: [String: String]) throws(Errno) -> String {
        switch program {
        case .path(let path): path
        case .nameOnPath(let name): try path(ofProgramNamed: name, environment)
        }
    }

    func path(ofProgramNamed name: String, _ environment: [String: String]) throws(Errno) -> String {
        // A relative directory would depend on the directory that the router was started in.
        let directories = (environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
        for directory in directories where directory.hasPrefix("/") {
            let path = "\(directory)/\(name)"
            var status = stat()
            guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            if access(path, X_OK) == 0 { return path }
        }
        throw .noSuchFileOrDirectory
    }

    /// The reason for which a process that owns a handler's name counts as the handler; nil for a stranger.
    ///
    /// - Parameter child: the process that this router has started for the handler, while it runs.
    func claim(of pid: UInt32?, _ handler: Handler, child: pid_t?) -> OwnerClaim? {
        if let examine { return examine(self, pid, handler) }
        guard let pid else { return nil }
        if records?.contain(pid, of: handler.id) == true { return .wasStarted }
        let session = pid_t(exactly: pid).map(getsid) ?? -1
        if session > 0, session == child || records?.contain(UInt32(session), of: handler.id) == true {
            return .descends
        }
        guard let confinement = ProcessConfinement(pid: pid) else {
            return runsProgram(of: handler, pid: pid) ? .runsProgram : nil
        }
        return confinement.application == handler.id.rawValue ? .isInSandbox : nil
    }

    /// Whether a process runs the handler's own program, or the script that is the handler's program.
    func runsProgram(of handler: Handler, pid: UInt32) -> Bool {
        guard let program = handler.program, let running = ProcessProgram.path(pid: pid) else { return false }
        let environment = environment.merging(handler.manifest.environment) { $1 }
        do throws(Errno) {
            guard let path = resolved(try path(of: program, environment)) else { return false }
            if running == path { return true }
            let interpreter: String
            switch ScriptInterpreter(ofFile: path) {
            case .path(let path): interpreter = path
            case .nameOnPath(let name): interpreter = try self.path(ofProgramNamed: name, environment)
            case nil: return false
            }
            return running == resolved(interpreter) && ProcessProgram.script(pid: pid) == path
        } catch {
            return false
        }
    }

    private func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(validatingCString: resolved)
    }

    /// The state of the handler's program file; nil if there is no such file.
    func programVersion(of handler: Handler) -> FileVersion? {
        guard let program = handler.program else { return nil }
        do throws(Errno) {
            var status = stat()
            let path = try path(of: program, environment.merging(handler.manifest.environment) { $1 })
            return stat(path, &status) == 0 ? FileVersion(status) : nil
        } catch {
            return nil
        }
    }

    /// Watches a process that owns a handler's name and that this router did not start.
    func adopt(
        pid: UInt32,
        of id: BundleIdentifier,
        onExit: @escaping (ProcessExit) -> Void
    ) throws(Errno) -> ProcessHandle {
        guard let pid = CInt(exactly: pid) else { throw .noSuchProcess }
        return try ProcessHandle(pid: pid, on: loop) { exit in
            records?.removeEnded(id)
            output.processEnded(id.rawValue, isOwn: false)
            onExit(exit)
        }
    }
}

/// A process that was just started.
struct StartedProcess {
    let handle: ProcessHandle
    let output: ProcessOutput
}
