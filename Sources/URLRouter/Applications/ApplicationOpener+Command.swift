internal import DBus
internal import Desktop
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import RFC1808
internal import Reactor
internal import SchemeRegistry

/// Opens URLs with applications that are started by a command with the URL among its arguments (desktop entry
/// specification, "The Exec key").
///
/// A command can answer only by exiting. If it exits within ``RouterLimits/settleTime``, exit status 0 means that it
/// has opened the URL, and any other status means that it has not. If it is still running after that time, it has taken
/// the URL. A handler's command (`OUCommand`) gets the time given by `OUOpenTimeout` instead, if the manifest has that
/// key. If the command refuses, the last line of its output is the reason. If it fails later, the sender already has an
/// answer, and the failure appears only in the log.
extension ApplicationOpener {
    func openWithCommand(_ request: ApplicationRequest) async throws(OpenURLError) -> OpenResult {
        let starting = startingCommands[request.id] ?? Shares(limit: limits.commandsPerApplication)
        guard starting.refusal(of: request.account, 1) == nil else {
            throw OpenURLError(
                .limitsExceeded,
                "\(starting[request.account]) commands of \(request.id) are already being started for \(request.account), "
                    + "and one sender gets at most half of what is left"
            )
        }
        guard runningCommands.refusal(of: request.account, 1) == nil else {
            let running = runningCommands[request.account]
            throw OpenURLError(
                .limitsExceeded,
                "\(running) commands are already running for \(request.account), and one sender gets at most half of what is left"
            )
        }
        let command = StartingCommand()
        request.request.place = .command(command)
        startingCommands[request.id, default: starting].add(1, to: request.account)
        defer {
            startingCommands[request.id]?.remove(1, from: request.account)
            if startingCommands[request.id]?.isEmpty == true { startingCommands[request.id] = nil }
        }
        await launcher.session.startUpdate()?.value
        if request.isCancelled { throw request.cancellation }
        let started: StartedProcess
        do throws(OpenURLError) {
            started = try await start(request, command)
        } catch {
            guard request.isCancelled else { throw error }
            // A cancel ends the wait for the start, which may have started the command by then.
            throw OpenURLError(.cancelled, "the request was cancelled; \(request.id) may already have the URL")
        }
        let (process, start) = (started.handle, ContinuousClock.now)
        // A handler's command may be reading a copy of a file, so keep the copy.
        request.request.wasHandedOver = request.claimant.handler != nil
        request.request.forgetTokens()
        commandHops.add(process.pid, hops: request.request.context.hops, of: request.id)
        log.info("started", metadata: ["application": "\(request.id)", "pid": "\(process.pid)"])
        request.request.addPhase("processStarted")
        // A link that a handler declines goes to the browser, about which the user may still be asked.
        if request.claimant.handler == nil { request.request.whenStarted?() }
        let settleTime = request.claimant.handler?.openTimeout ?? limits.settleTime
        let timer = loop.schedule(at: .now + min(settleTime, max(request.left, .zero))) { command.settled() }
        let exit = await withCheckedContinuation { command.wait($0) }
        loop.cancelTimer(timer)
        switch exit {
        case nil, .unknown:
            request.request.addPhase("open")
            if request.claimant.handler != nil { reportFailure(of: command, since: start, started.output, request) }
            if request.isCancelled { throw request.lateCancellation }
            return request.result(.launched)
        case .exited(status: 0):
            request.request.addPhase("open")
            return request.result(.completed)
        case .exited(let status) where status == 126 || status == 127:
            let reason = started.fault.map { "\($0)" } ?? "its command was not found"
            throw OpenURLError(.launchFailed, "\(request.id) exited with status \(status): \(reason)")
        case .exited(let status):
            // A handler's command prints the reason itself.
            let isHandler = request.claimant.handler != nil
            if isHandler, !command.sharedOutput, let reason = started.output.lastLine {
                throw OpenURLError.declined(by: "\(request.id)", QuotingText(quoting: reason))
            }
            let words: QuotingText = "\(request.id) exited with status \(status) after it got the URL"
            // A confined sender gets this error as it is, but must not learn what an application writes, or where.
            let isHinted = !isHandler && request.request.sender?.callerClass.isConfined == false
            throw OpenURLError(
                .declined,
                words + (isHinted ? started.output.hint(of: nil, isShared: command.sharedOutput) : "")
            )
        case .signalled:
            let words: QuotingText = "\(request.id) \(exit ?? .unknown) after it got the URL"
            let handler = request.claimant.handler?.id.rawValue
            let hint = started.output.hint(of: handler, isShared: command.sharedOutput)
            throw OpenURLError(.handlerCrashed, words + hint)
        }
    }

    /// Shows and logs the failure if a handler's command fails after it has taken the URL.
    private func reportFailure(
        of command: StartingCommand,
        since start: ContinuousClock.Instant,
        _ output: ProcessOutput,
        _ request: ApplicationRequest
    ) {
        let (id, observed) = (request.id, request.request.observed)
        command.whenExitedLater { [launcher, log] exit in
            guard let code = exit.codeOfFailure else { return }
            let time = start.duration(to: .now).inWords
            let words: QuotingText = "\(id) \(exit), \(time) after it got the URL"
            // The identifier is always a handler's, because only handlers' commands are reported.
            let hint = output.hint(of: id, isShared: command.sharedOutput)
            let text = launcher.output.withoutSecrets(words + hint, of: id)
            log.warning("\(text)", metadata: ["handler": "\(id)"])
            observed?.end(OpenURLError(code, text))
        }
    }

    /// Starts the command, which counts towards the limits until it exits.
    private func start(
        _ request: ApplicationRequest,
        _ command: StartingCommand
    ) async throws(OpenURLError) -> StartedProcess {
        runningCommands.add(1, to: request.account)
        let writers = commandWriters[request.id] ?? CommandWriters()
        commandWriters[request.id] = writers
        writers.add()
        let ended = {
            self.runningCommands.remove(1, from: request.account)
            command.sharedOutput = writers.haveOverlapped
            if writers.remove(command) { self.commandWriters[request.id] = nil }
        }
        launcher.output.note(request.url.description, of: request.id)
        let onExit = { (exit: ProcessExit) in
            ended()
            self.log.info("\(request.id) \(exit)")
            command.ended(exit)
        }
        do throws(OpenURLError) {
            let started =
                switch request.claimant {
                case .application(let application): try await spawn(application, request, onExit: onExit)
                case .handler(let handler): try await spawn(handler, request, onExit: onExit)
                }
            writers.started(command, started.handle.pid)
            return started
        } catch {
            ended()
            throw error
        }
    }

    private func spawn(
        _ application: DesktopEntry,
        _ request: ApplicationRequest,
        onExit: @escaping (ProcessExit) -> Void
    ) async throws(OpenURLError) -> StartedProcess {
        let expanded = (request.command ?? application.command)?.arguments(
            opening: [request.url.description],
            name: application.name,
            icon: application.icon,
            file: application.file
        )
        guard let arguments = expanded?.first, !arguments.isEmpty else {
            throw OpenURLError(.launchFailed, "\(request.id) has no command; see \(application.file)")
        }
        do throws(ProgramStart.Failure) {
            return try await launcher.launch(
                application.id.name,
                arguments,
                request.options.tokenVariables,
                inTerminal: application.runsInTerminal,
                for: request.caller,
                directory: application.workingDirectory,
                within: limits.launchTimeout,
                onExit: onExit
            )
        } catch .noTerminal {
            throw OpenURLError(.launchFailed, "\(request.id) \(ProgramStart.Failure.noTerminal)")
        } catch .unusable(let fault) {
            throw OpenURLError(.launchFailed, "\(request.id) cannot be started: \(fault)")
        } catch {
            throw OpenURLError(error.code, "\(request.id) cannot be started: \(arguments[0]): \(error)")
        }
    }

    private func spawn(
        _ handler: Handler,
        _ request: ApplicationRequest,
        onExit: @escaping (ProcessExit) -> Void
    ) async throws(OpenURLError) -> StartedProcess {
        let arguments = handler.manifest.command?.arguments(opening: request.url.description) ?? []
        return try await launcher.launch(
            commandOf: handler,
            arguments,
            request.options.tokenVariables,
            for: request.caller,
            within: limits.launchTimeout,
            onExit: onExit
        )
    }
}

extension ProcessExit {
    /// The error code for a command that has taken its URL and then ends in this way; nil if nothing went wrong, or if
    /// another process ended it.
    fileprivate var codeOfFailure: OpenURLError.Code? {
        switch self {
        case .exited(status: 0), .unknown, .signalled(SIGTERM), .signalled(SIGINT), .signalled(SIGHUP),
            .signalled(SIGKILL), .signalled(SIGPIPE):
            nil
        case .exited: .declined
        case .signalled: .handlerCrashed
        }
    }
}
