internal import CLinux
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
    let services: ProcessServices?
    /// Nil without a directory for the records.
    let records: ProcessRecords?
    /// The router's unique name; nil without a bus.
    let router: BusName?
    let recognition: OwnerRecognition

    /// The session's variables, which every process gets.
    var environment: [String: String] { session.assumeIsolated { $0.variables } }

    /// Names of variables that no process gets from systemd's manager either.
    private var withheld: Set<String> { session.assumeIsolated { $0.withheld } }

    /// Whether the session is known to have no manager of systemd.
    private var hasNoManager: Bool { session.assumeIsolated { $0.isMissing } }

    /// Whether the session has a display.
    var hasDisplay: Bool { ["DISPLAY", "WAYLAND_DISPLAY"].contains { environment[$0]?.isEmpty == false } }

    /// Programs that are being started, each in its own thread, by the identifiers that share the threads.
    let starts = Lock(Shares<String>(limit: 64))
    let started = StartedProcesses()

    /// - Parameters:
    ///   - lookTime: the time limit for a look at the file of a handler's program.
    ///   - examine: replaces the decision of ``OwnerRecognition/claim(of:_:child:runner:)``, as in a unit test.
    init(
        session: SessionEnvironment,
        loop: EventLoop,
        output: HandlerOutput,
        services: ProcessServices?,
        records: ProcessRecords? = nil,
        router: BusName? = nil,
        lookTime: Duration,
        examine: (@Sendable (OwnerRecognition, UInt32?, Handler) async -> OwnerClaim?)? = nil
    ) {
        self.session = session
        self.loop = loop
        self.output = output
        self.services = services
        self.records = records
        self.router = router
        recognition = OwnerRecognition(
            session: session,
            loop: loop,
            records: records,
            starts: starts,
            lookTime: lookTime,
            examine: examine
        )
    }

    /// Starts a handler that waits for its first message.
    ///
    /// - Parameters:
    ///   - additional: variables that the handler gets in addition to those from the session and the manifest.
    ///   - caller: the process that asked for it, if there is one.
    ///   - limit: the time within which the file system has to provide the program's file.
    /// - Throws: `OpenURLError` with the code `launchFailed` or `limitsExceeded`, and the reason.
    func launch(
        _ handler: Handler,
        _ additional: [String: String] = [:],
        for caller: UInt32?,
        within limit: Duration,
        onExit: @escaping (ProcessExit) -> Void
    ) async throws(OpenURLError) -> StartedProcess {
        let id = handler.id
        guard let program = handler.program else {
            throw OpenURLError(.launchFailed, "\(id) has no executable of its own")
        }
        var environment = CallerDisplay.complete(environment, from: caller)
            .merging(handler.manifest.environment) { $1 }.merging(additional) { $1 }
        environment[HandlerInterface.launchVariable] = router?.rawValue ?? "1"
        environment[HandlerInterface.reachVariable] = handler.reach.rawValue
        environment.merge(places(of: handler)) { $1 }
        do throws(ProgramStart.Failure) {
            let arguments = [program.description] + handler.manifest.arguments
            let process = try await start(id.rawValue, file: id.rawValue, within: limit) { output in
                ProgramStart(
                    program: program,
                    arguments: arguments,
                    environment: environment,
                    isTrusted: false,
                    manifest: handler.entry,
                    output: output
                )
            } onExit: { exit in
                records?.removeEnded(id)
                onExit(exit)
            }
            records?.add(process.handle.pid, of: id)
            return process
        } catch {
            throw Self.error(error, of: program, handler)
        }
    }

    /// Returns the variables with the handler's own directories.
    private func places(of handler: Handler) -> [String: String] {
        let directories = BaseDirectories(environment: environment)
        var places: [String: String] = [:]
        if handler.isBundle { places[HandlerInterface.bundleVariable] = handler.path }
        places[HandlerInterface.dataVariable] = directories.dataHome.map { "\($0)/\(handler.id)" }
        places[HandlerInterface.cacheVariable] = directories.cacheHome.map { "\($0)/\(handler.id)" }
        places[HandlerInterface.inboxVariable] = directories.dataHome.map {
            InboxFiles.path(of: handler.id.rawValue, dataHome: $0)
        }
        return places
    }

    /// Returns the error for a handler whose program was not started.
    private static func error(
        _ failure: ProgramStart.Failure,
        of program: Handler.Program,
        _ handler: Handler
    ) -> OpenURLError {
        let id = handler.id
        let place = "\(handler.manifest.command == nil ? "CFBundleExecutable" : "OUCommand") in \(handler.path)"
        switch failure {
        case .untrusted(let reason): return OpenURLError(.launchFailed, "\(id) is not started: \(reason)")
        case .unusable(let fault):
            let advice = fault.advice ?? "put it there, or correct \(place)"
            let text: QuotingText = "\(id) cannot be started: \(fault.program) \(fault.reason); \(advice)"
            return OpenURLError(failure.code, text)
        case .abandoned(let fault):
            let advice = "register it where it is now, or run 'openurl unregister \(id)'"
            let text: QuotingText =
                "\(id) cannot be started: \(fault.program) \(fault.reason), and its manifest \(handler.path) is gone too; \(advice)"
            return OpenURLError(failure.code, text)
        case .refused:
            return OpenURLError(failure.code, "\(id) cannot be started: \(program): \(failure); check \(place)")
        case .noTerminal, .tooSlow, .tooMany, .refusedByManager:
            return OpenURLError(failure.code, "\(id) cannot be started: \(program): \(failure)")
        }
    }

    /// Starts a handler's command (`OUCommand`). Its process does not own the handler's name, so it is not recorded.
    ///
    /// - Parameters:
    ///   - arguments: the arguments after the program's name.
    ///   - additional: variables that the command gets in addition to those from the session and the manifest.
    ///   - caller: the process that asked for it, if there is one.
    ///   - limit: the time within which the file system has to provide the program's file.
    /// - Throws: `OpenURLError` with the code `launchFailed` or `limitsExceeded`, and the reason.
    func launch(
        commandOf handler: Handler,
        _ arguments: [String],
        _ additional: [String: String],
        for caller: UInt32?,
        within limit: Duration,
        onExit: @escaping (ProcessExit) -> Void
    ) async throws(OpenURLError) -> StartedProcess {
        let id = handler.id.rawValue
        guard let program = handler.program else { throw OpenURLError(.launchFailed, "\(id) has no command") }
        let environment = CallerDisplay.complete(environment, from: caller)
            .merging(handler.manifest.environment) { $1 }.merging(additional) { $1 }
            .merging(places(of: handler)) { $1 }
        do throws(ProgramStart.Failure) {
            return try await start(id, file: id, isRead: true, within: limit) { output in
                ProgramStart(
                    program: program,
                    arguments: [program.description] + arguments,
                    environment: environment,
                    isTrusted: false,
                    manifest: handler.entry,
                    output: output
                )
            } onExit: {
                onExit($0)
            }
        } catch {
            throw Self.error(error, of: program, handler)
        }
    }

    /// Starts an application's command: a path or a name on `PATH`, and its arguments.
    ///
    /// - Parameters:
    ///   - id: the application's identifier, without the `.desktop` of its entry.
    ///   - caller: the process that asked for it, if there is one.
    ///   - limit: the time within which the file system has to provide the program's file.
    func launch(
        _ id: String,
        _ arguments: [String],
        _ additional: [String: String],
        inTerminal: Bool = false,
        for caller: UInt32?,
        directory: String?,
        within limit: Duration,
        onExit: @escaping (ProcessExit) -> Void
    ) async throws(ProgramStart.Failure) -> StartedProcess {
        guard let program = arguments.first else { throw .refused(.invalidArgument) }
        let environment = CallerDisplay.complete(environment, from: caller).merging(additional) { $1 }
        // Use another file, so that a handler's last line is never one that a command wrote.
        return try await start(id, file: DesktopFileID.text(ofName: id), within: limit) { output in
            ProgramStart(
                program: program.utf8.contains(UInt8(ascii: "/")) ? .path(program) : .nameOnPath(program),
                arguments: arguments,
                environment: environment,
                directory: directory,
                runsInTerminal: inTerminal,
                output: output
            )
        } onExit: {
            onExit($0)
        }
    }

    /// Starts a program that belongs to no handler, and that gets none of the session's variables by itself.
    ///
    /// - Parameter name: the program's name, for the unit in which it runs.
    func launch(
        _ name: String,
        _ program: ProgramStart,
        within limit: Duration,
        onExit: @escaping (ProcessExit) -> Void
    ) async throws(ProgramStart.Failure) -> ProcessHandle {
        let ended = { (_: CInt, exit: ProcessExit) in onExit(exit) }
        if let (process, _) = try await startService(program, name, within: limit, ended) { return process }
        return try await startChild(program, name, within: limit, ended).0
    }

    /// Returns when the router knows the process that a caller descends from, if the router is starting that process.
    func waitForStart(of caller: UInt32?) async {
        guard started.areStarting else { return }
        await started.waitForStart(of: caller, isInStartingService: isInStartingService)
    }

    /// Returns whether a process is in a service that is being started. Call this on the loop's thread.
    func isInStartingService(_ pid: pid_t) -> Bool { services?.assumeIsolated { $0.isStarting(pid) } ?? false }

    /// Number of descriptors that started processes must leave free for messages and files.
    private static let reservedDescriptors = 128

    /// Starts a program. Its file is examined in a separate thread, because its file system may never respond.
    private func start(
        _ id: String,
        file: String,
        isRead: Bool = false,
        within limit: Duration,
        _ makeProgram: (_ output: UnixFD) -> ProgramStart,
        onExit: @escaping (ProcessExit) -> Void
    ) async throws(ProgramStart.Failure) -> StartedProcess {
        guard starts.withLock({ $0.refusal(of: id, 1) }) == nil else {
            throw .tooMany(starts.withLock { $0[id] })
        }
        started.startBegins()
        var watched: CInt?
        defer { started.startEnds(watched) }
        let ended = { [output] in output.processEnded(file, isOwn: true) }
        let place: ProcessOutput
        let program: ProgramStart
        do throws(ProgramStart.Failure) {
            let (descriptor, opened) = try open(id, file, isRead: isRead)
            place = opened
            program = makeProgram(descriptor)
        } catch {
            ended()
            throw error
        }
        do throws(ProgramStart.Failure) {
            let onEnd = { [started] (pid: CInt, exit: ProcessExit) in
                started.ended(pid)
                ended()
                onExit(exit)
            }
            let service = try await startService(program, id, within: limit, onEnd)
            let (process, examined) =
                if let service { service } else { try await startChild(program, id, within: limit, onEnd) }
            watched = process.pid
            if let descriptor = program.output.take() { close(descriptor) }
            return StartedProcess(handle: process, output: place, version: examined.version, fault: examined.fault)
        } catch {
            // After the time limit, the start may still use the descriptor.
            if case .tooSlow = error {} else if let descriptor = program.output.take() { close(descriptor) }
            ended()
            throw error
        }
    }

    /// Starts a program as a service of systemd's manager; nil if the session has no manager, in which case the program
    /// was not started.
    private func startService(
        _ program: ProgramStart,
        _ id: String,
        within limit: Duration,
        _ onExit: @escaping (CInt, ProcessExit) -> Void
    ) async throws(ProgramStart.Failure) -> (ProcessHandle, ExaminedProgram)? {
        guard let services, !hasNoManager else { return nil }
        let end = ContinuousClock.now + limit
        let examined = try await run(id, within: limit, { program.examine() }, late: { _ in })
        let service: ProcessServices.Started
        do throws(ProcessServices.Failure) {
            service = try await services.start(
                examined,
                id: id,
                output: program.output,
                withheld: withheld,
                within: ContinuousClock.now.duration(to: end)
            )
        } catch {
            switch error {
            case .noManager: return nil
            case .late: throw .refusedByManager("it had not answered after \(limit.inWords)")
            case .refused(let reason): throw .refusedByManager(reason)
            case .notExecuted(let unit):
                throw program.failure(of: examined)
                    ?? .refusedByManager("its file cannot be executed; 'journalctl --user -u \(unit)' says why")
            case .unwatched(let error): throw .refused(error)
            }
        }
        return (watch(service, of: services, onExit), examined)
    }

    /// Watches the process of a service. Call this on the loop's thread.
    private func watch(
        _ service: ProcessServices.Started,
        of services: ProcessServices,
        _ onExit: @escaping (CInt, ProcessExit) -> Void
    ) -> ProcessHandle {
        let process = ProcessHandle(
            service: service.pid,
            service.descriptor?.take(),
            on: loop,
            onEnd: { services.assumeIsolated { $0.processEnded(service) } },
            onExit: { onExit(service.pid, $0) }
        )
        // The report arrives on the loop, to which the handle belongs.
        nonisolated(unsafe) let watched = process
        services.assumeIsolated { $0.whenExited(service) { watched.report($0) } }
        return process
    }

    /// Starts a program as a child of the router.
    private func startChild(
        _ program: ProgramStart,
        _ id: String,
        within limit: Duration,
        _ onExit: @escaping (CInt, ProcessExit) -> Void
    ) async throws(ProgramStart.Failure) -> (ProcessHandle, ExaminedProgram) {
        let started = try await run(id, within: limit) {
            program.start()
        } late: { result in
            // The launch has already failed.
            if case .success(let started) = result { ProcessHandle.end(child: started.pid) }
        }
        do throws(Errno) {
            let process = try ProcessHandle(child: started.pid, on: loop) { onExit(started.pid, $0) }
            return (process, started.program)
        } catch {
            throw .refused(error)
        }
    }

    private func open(
        _ id: String,
        _ file: String,
        isRead: Bool
    ) throws(ProgramStart.Failure) -> (UnixFD, ProcessOutput) {
        do throws(Errno) {
            let (number, place) = try output.open(for: id, file: file, isRead: isRead)
            let descriptor = UnixFD(owning: number)
            // A new descriptor has the lowest number that is free.
            guard Int(number) < DescriptorLimit.current - Self.reservedDescriptors else { throw .tooManyOpenFiles }
            return (descriptor, place)
        } catch {
            throw .refused(error)
        }
    }

    /// Does a part of a start in a thread of its own, which counts as one of the identifier's. If the calling task is
    /// cancelled, the wait ends at once, as it does at the time limit.
    private func run<Success: Sendable>(
        _ id: String,
        within limit: Duration,
        _ work: @escaping @Sendable () -> Result<Success, ProgramStart.Failure>,
        late: @escaping (Result<Success, ProgramStart.Failure>) -> Void
    ) async throws(ProgramStart.Failure) -> Success {
        starts.withLock { $0.add(1, to: id) }
        let result: Result<Success, ProgramStart.Failure>?
        do throws(Errno) {
            result = try await HelperThread.run(for: limit, on: loop, endsWithTask: true) { [starts] in
                defer { starts.withLock { $0.remove(1, from: id) } }
                return work()
            } late: { result in
                late(result)
            }
        } catch {
            starts.withLock { $0.remove(1, from: id) }
            throw .refused(error)
        }
        guard let result else { throw .tooSlow(limit) }
        return try result.get()
    }

    /// Watches a process that owns a handler's name but was not started by this router.
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
    /// The state of the program's file before the start.
    let version: FileVersion?
    /// A fault in the program that did not prevent the kernel from starting it.
    let fault: ProgramFault?
}
