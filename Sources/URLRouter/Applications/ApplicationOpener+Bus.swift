internal import DBus
internal import Desktop
internal import OpenURLBus
internal import RFC1808

/// Opens URLs with applications that have `DBusActivatable=true`: the bus starts them, and
/// `org.freedesktop.Application.Open` hands them the URL (desktop entry specification, "D-Bus Activation").
extension ApplicationOpener {
    func openOverTheBus(
        _ request: ApplicationRequest,
        _ application: DesktopEntry
    ) async throws(OpenURLError) -> OpenResult {
        guard let name = application.busName.flatMap(BusName.init(rawValue:)) else {
            throw OpenURLError(
                .launchFailed,
                "\(request.applicationID) has DBusActivatable=true, but its name is not a bus name; rename \(application.file)"
            )
        }
        var way = OpenResult.Way.active
        var owner = try await owner(of: name, request)
        if owner == nil {
            try await startService(name, request)
            way = .launched
            request.request.addPhase("ready")
            owner = try await self.owner(of: name, request)
        }
        guard let owner else {
            throw OpenURLError(.launchFailed, "\(request.id) released its name before it got the URL")
        }
        try await deliver(request, name, owner)
        request.request.addPhase("open")
        return request.result(way)
    }

    private func owner(of name: BusName, _ request: ApplicationRequest) async throws(OpenURLError) -> BusName? {
        do throws(CallError) {
            return try await bus.owner(of: name)
        } catch {
            if request.isCancelled { throw request.cancellation }
            throw OpenURLError(.launchFailed, "the bus did not say whether \(request.id) is running: \(error)")
        }
    }

    /// Starts the service, within the router's own time limit for a launch. The bus waits far longer, but a caller that
    /// learns of a failure within seconds can still act on it.
    private func startService(_ name: BusName, _ request: ApplicationRequest) async throws(OpenURLError) {
        try checkMayGoOn(request)
        let limit = min(limits.launchTimeout, request.left)
        do throws(CallError) {
            try await bus.startService(name, timeout: limit)
        } catch {
            if request.isCancelled { throw request.cancellation }
            switch error {
            case .timedOut:
                throw OpenURLError(
                    .timedOut,
                    "\(request.id) did not take its name on the bus within \(limit.inWords) of its start"
                )
            case .remote(let error) where error.name == .serviceUnknown:
                throw OpenURLError(
                    .launchFailed,
                    "\(request.applicationID) has DBusActivatable=true, but no D-Bus service file is called \(name)"
                )
            default:
                throw OpenURLError(.launchFailed, "\(request.id) cannot be started: \(error)")
            }
        }
    }

    private func deliver(_ request: ApplicationRequest, _ name: BusName, _ owner: BusName) async throws(OpenURLError) {
        let platformData = FreedesktopApplication.platformData(request.options)
        try checkMayGoOn(request)
        do throws(CallError) {
            request.request.wasHandedOver = true
            request.request.forgetTokens()
            try await bus.openApplication(
                request.url.description,
                platformData,
                with: name,
                at: owner,
                timeout: request.left
            )
        } catch {
            if let failure = failure(error, request) { throw failure }
        }
    }

    private func checkMayGoOn(_ request: ApplicationRequest) throws(OpenURLError) {
        if request.isCancelled { throw request.cancellation }
        guard request.left > .zero else {
            throw OpenURLError(
                .timedOut,
                "\(request.id) was not ready within \(request.timeout.inWords); it did not get the URL"
            )
        }
    }

    /// Returns the error to report when the call fails; nil if the application has the URL anyway.
    private func failure(_ error: CallError, _ request: ApplicationRequest) -> OpenURLError? {
        let id = request.id
        switch error {
        case .remote(let error) where error.isFromBus && error.name == .noReply:
            return OpenURLError(.handlerCrashed, "\(id) exited before it answered; it may have acted on the URL")
        case .remote(let error) where error.isFromMissingService:
            return OpenURLError(.launchFailed, "\(id) exited before it got the URL")
        case .remote(let error) where error.isFromMissingMethod:
            return OpenURLError(
                .launchFailed,
                "\(request.applicationID) has DBusActivatable=true, but lacks \(FreedesktopApplication.name).Open"
            )
        case .remote(let error) where error.isFromBus:
            return OpenURLError(
                error.name == .limitsExceeded ? .limitsExceeded : .launchFailed,
                "the bus refused to pass the URL to \(id): \(error)"
            )
        case .remote(let error) where error.name == .notSupported:
            return OpenURLError(.declined, "\(id) takes no URLs: \(error.message)")
        case .remote(let error):
            return .declined(by: "\(id)", error, cutTo: limits.errorBytes)
        case .timedOut:
            return OpenURLError(.timedOut, "\(id) did not answer within \(request.timeout.inWords)")
        case .unexpectedReply:
            // The call has returned, so the application has the URL, whatever its reply contains.
            return nil
        case .notSent(let error):
            return OpenURLError(.limitsExceeded, "the URL cannot be passed to \(id): \(error)")
        case .cancelled:
            if request.isCancelled { return request.cancellation }
            return OpenURLError(.timedOut, "opening the URL with \(id) was cancelled")
        case .disconnected:
            return OpenURLError(.handlerCrashed, "the bus connection was lost before \(id) answered")
        }
    }
}
