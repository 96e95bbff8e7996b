internal import DBus
internal import OpenURLBus
internal import RFC1808
internal import Reactor
internal import SchemeRegistry

/// Takes requests from the handler's queue to their outcome.
extension HandlerSession {
    /// Puts a new request into the queue in the order of arrival. The request keeps its place while the bus is asked
    /// for the sender.
    ///
    /// - Throws: `limitsExceeded` if too many requests are waiting for the handler.
    func accept(_ request: OpenRequest) throws(OpenURLError) {
        request.begin(requests.nextNumber(), usual: request.purpose == .wake ? shared.limits.wakeTime : openTimeout)
        try count(request, to: request.account)
        requests.insert(request)
    }

    /// Charges an application for a request.
    ///
    /// - Throws: `limitsExceeded` if too many requests of this application wait for the handler.
    func count(_ request: OpenRequest, to account: String) throws(OpenURLError) {
        guard let refusal = requests.count(request, to: account) else { return }
        throw OpenURLError(.limitsExceeded, "\(id): \(refusal)")
    }

    /// Takes a request out of the queue, because it will not be delivered or has its outcome. Other requests that
    /// follow from it may have been waiting for this.
    func leave(_ request: OpenRequest) {
        if case .waiting = request.turn { requests.remove(request) }
        request.cause = nil
        requests.uncount(request)
        request.reports?.end()
        if let timer = request.cancelTimer { shared.loop.cancelTimer(timer) }
        guard requests.waiting.isEmpty else { return deliverWaiting() }
        foregroundCheck.leaveIfUnused()
        foregroundCheck.check()
    }

    /// Delivers a request from the queue, and returns the handler's answer.
    func deliver(_ request: OpenRequest) async throws(OpenURLError) -> OpenResult {
        request.addRouterPhase("routed")
        if replacement.mayReplace { await replacement.replaceEarlierProgram() }
        while true {
            if case .waiting = request.turn { handle(.requested) }
            let owner = if case .granted(let owner) = request.turn { owner } else { try await turn(of: request) }
            requests.take(inHand: request)
            watchdog.start(machine.transitionTimeout)
            let hadAnswered = process.hasAnsweredOpen
            let answer = await attempt(request, owner)
            requests.release(request)
            background.allowSuspension()
            if processes.isLaneOffered { processes.useLane() }
            if self.owner == owner { process.noteAnswer(answer) }
            switch answer {
            case .success(let answer):
                var result = try outcomes.result(answer, request, owner)
                if !request.causedLaunch { result.runsEarlierProgram = await replacement.runsEarlierProgram() }
                return result
            case .failure(let error):
                guard error.meansUndelivered || request.isUnbegun else {
                    throw await outcomes.failure(error, request, owner, hadAnswered)
                }
                // The process has never seen the request, so let the next process have it.
                request.wasHandedOver = false
                request.isUnbegun = false
                if self.owner == owner { handle(.refusesMore) }
                if request.isCancelled { throw .withdrawn }
                requests.insert(request)
            }
        }
    }

    func deliverWaiting() {
        if let owner, !process.isBusy { requests.grant(to: owner) }
    }

    /// Waits until the handler is ready and every earlier request has been delivered.
    func turn(of request: OpenRequest) async throws(OpenURLError) -> BusName {
        var isSuspended = false
        let result: Result<BusName, OpenURLError> = await withCheckedContinuation { continuation in
            // Other jobs of the loop may run before this closure, so the turn may have come in the meantime.
            switch request.turn {
            case .granted(let owner): return continuation.resume(returning: .success(owner))
            case .refused(let error): return continuation.resume(returning: .failure(error))
            case .waiting, .suspended: break
            }
            isSuspended = true
            request.turn = .suspended(continuation)
            let isInCircle = requests.closesCircle(request)
            let limit = isInCircle ? min(request.deadline, .now + shared.limits.circleTimeout) : request.deadline
            request.timer = shared.loop.schedule(at: limit) { self.expire(request) }
        }
        if let timer = request.timer { shared.loop.cancelTimer(timer) }
        let owner = try result.get()
        // Requests that have arrived in the meantime follow as jobs on the loop, so this one goes ahead of them.
        if isSuspended, requests.resumed() { deliverWaiting() }
        return owner
    }

    private func expire(_ request: OpenRequest) {
        guard case .suspended = request.turn else { return }
        let isInCircle = requests.closesCircle(request)
        guard isInCircle || request.deadline <= .now else {
            // In the meantime, another request has broken the circle.
            request.timer = shared.loop.schedule(at: request.deadline) { self.expire(request) }
            return deliverWaiting()
        }
        requests.remove(request)
        let loopDetected = OpenURLError(
            .loopDetected,
            "\(id) is still opening the URL that led to this one, and each would wait for the other"
        )
        request.resolve(.failure(isInCircle ? loopDetected : outcomes.tooLate(request)))
        deliverWaiting()
    }

    private func attempt(_ request: OpenRequest, _ owner: BusName) async -> Result<OpenAnswer, CallError> {
        // If the state is unknown, the router could mistake a handler in the foreground for one in the background, and
        // stop it.
        if processes.stateGate.isClosed { await processes.stateGate.wait() }
        guard !request.isCancelled else { return .failure(.cancelled) }
        // Since the request was granted, the handler may have released its name. If so, it relies on getting no more
        // requests.
        guard self.owner == owner else {
            return .failure(.remote(RemoteError(HandlerInterface.ending, "\(id) is exiting")))
        }
        if !process.hasAnswered, !timers.launch.isRunning, process.isOwn { launch.startTimer() }
        if request.causedLaunch || request.causedWake { request.addPhase("ready") }
        let left = ContinuousClock.now.duration(to: request.deadline)
        guard left > .zero else { return .failure(.cancelled) }
        let inBackground = beginDelivery(request, owner)
        let notifications = process.notifications.take()
        do throws(CallError) {
            switch request.purpose {
            case .open:
                background.holdSuspension()
                let url = handOver(request, inBackground, notifications)
                let handler = RemoteObject(owner, path)
                return .success(try await shared.bus.open(url, with: handler, timeout: left))
            case .wake:
                background.holdSuspension()
                try await callWake(request, owner, notifications)
            case .activate, .comeBack: try await show(request, owner, notifications, timeout: left)
            }
            return .success(OpenAnswer(isHandled: true, reply: [:], trace: []))
        } catch {
            return .failure(error)
        }
    }

    /// Takes the handler to where it has to be for a request.
    ///
    /// - Returns: whether the request leaves it in the background.
    private func beginDelivery(_ request: OpenRequest, _ owner: BusName) -> Bool {
        let activity = machine.state
        request.foundInBackground =
            activity == .running(owner: owner, .background) || activity == .running(owner: owner, .leaving)
        process.hasGotRequests = true
        let inBackground = request.options.inBackground || request.purpose == .wake
        let isOwn = request.comes(from: id)
        if !inBackground {
            process.stay.foregroundFollows(isOwn: isOwn, from: activity)
        } else if !isOwn, activity == .running(owner: owner, .background) {
            background.beginStay()
        }
        // A process that is launched for something other than a URL says itself where it is then.
        if request.purpose != .wake || activity != .running(owner: owner, .inactive) {
            handle(.delivers(inBackground: inBackground))
        }
        return inBackground
    }

    /// Completes the URL that the process gets now.
    private func handOver(
        _ request: OpenRequest,
        _ inBackground: Bool,
        _ notifications: [String: Value]
    ) -> DeliveredURL {
        requests.send(request)
        request.wasHandedOver = true
        request.asked?.note(process)
        request.context.inBackground = inBackground
        request.context.notifications = notifications
        let url = request.destination?.delivered.description ?? request.url
        shared.launcher.output.note(url, of: id.rawValue)
        if !inBackground { process.returnPaths.add(request.id ?? "", from: request.context.sourceApplication) }
        request.addRouterPhase("delivered")
        return DeliveredURL(url, request.context)
    }

    /// Brings the process to the foreground without a URL.
    private func show(
        _ request: OpenRequest,
        _ owner: BusName,
        _ notifications: [String: Value],
        timeout: Duration
    ) async throws(CallError) {
        if !notifications.isEmpty { try await shared.bus.notify(notifications, id, at: owner, timeout: timeout) }
        requests.send(request)
        if request.purpose == .comeBack { return try await shared.bus.becomeActive(id, at: owner, timeout: timeout) }
        let notification = request.waking.localNotification
        request.wasHandedOver = notification != nil
        let platformData = FreedesktopApplication.platformData(request.options, notification)
        try await shared.bus.activate(id, platformData, at: owner, timeout: timeout)
    }
}

extension CallError {
    /// Whether the error says that no process has seen the URL.
    fileprivate var meansUndelivered: Bool {
        guard case .remote(let error) = self else { return false }
        return error.isFromMissingService || error.name == HandlerInterface.ending
    }
}
