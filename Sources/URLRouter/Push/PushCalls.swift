internal import DBus
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import SchemeRegistry
internal import UserFiles

/// Handles the calls of handlers, and of the user's programs, about registrations for pushes.
extension Pushes {
    /// How long a distributor has to give the endpoint after it has accepted a registration.
    private static let endpointTime = Duration.seconds(20)
    /// How long the router waits until it tries again to read the registrations.
    private static let pause = Duration.seconds(60)
    /// Number of calls that wait for the endpoint of one registration.
    private static let waitersPerRegistration = 16

    /// Registers a handler, and returns when its endpoint is known.
    func register(_ id: BundleIdentifier, _ options: PushOptions) async throws -> PushRegistration {
        guard let handler = handlers.registry[id] else { throw OpenURLError(unknownHandler: id.rawValue) }
        guard handler.canBeWoken || handler.manifest.pushURL != nil else {
            throw OpenURLError(
                .notAllowed,
                "\(id) runs only to open URLs; set OUPushURL in its manifest to receive pushes"
            )
        }
        guard handlers.temporary.reason(for: id) == nil else {
            throw OpenURLError(.notAllowed, "\(id) is registered only temporarily, and a push may come after that")
        }
        try check(options)
        try await load(toChange: true)
        let earlier = find(id.rawValue, options.instance)?.registration.distributor
        let distributor = try await distributor(options.distributor, earlier)
        if let other = find(id.rawValue, options.instance), other.registration.distributor != distributor.rawValue {
            try await end(other)
        }
        // Distributors ignore the key of a registration that they know.
        if let other = find(id.rawValue, options.instance), other.vapid != options.vapid { try await end(other) }
        // Meanwhile, another call may have made the registration.
        let stored = find(id.rawValue, options.instance)
        var next = try stored ?? newRegistration(id.rawValue, options.instance, distributor)
        next.description = options.description ?? id.rawValue
        next.vapid = options.vapid
        // The distributor gives the endpoint before or after its answer, and pushes may follow at once.
        let waiter = try newWaiter(for: next.token)
        defer { remove(waiter, of: next.token) }
        registrations[next.token] = next
        do {
            try await save()
            try await register(next, with: distributor)
        } catch {
            if stored == nil { try await end(next) }
            throw error
        }
        return try await endpoint(of: next.token, from: distributor, waiter)
    }

    private func check(_ options: PushOptions) throws(OpenURLError) {
        guard options.instance.utf8.count <= PushInterface.instanceBytes,
            options.description?.utf8.count ?? 0 <= UnifiedPush.textBytes,
            options.vapid?.utf8.count ?? 0 <= UnifiedPush.textBytes
        else {
            throw OpenURLError(
                .limitsExceeded,
                "an instance has at most \(PushInterface.instanceBytes) bytes, and a description and a key "
                    + "\(UnifiedPush.textBytes)"
            )
        }
    }

    private func find(_ id: String, _ instance: String) -> StoredRegistration? {
        registrations.values.first { $0.registration.handler == id && $0.registration.instance == instance }
    }

    private func newRegistration(
        _ id: String,
        _ instance: String,
        _ distributor: BusName
    ) throws(OpenURLError) -> StoredRegistration {
        guard registrations.count < PushInterface.registrations,
            registrations.values.count(where: { $0.registration.handler == id })
                < PushInterface.registrationsPerHandler
        else {
            throw OpenURLError(
                .limitsExceeded,
                "a handler has at most \(PushInterface.registrationsPerHandler) registrations, and all handlers together "
                    + "\(PushInterface.registrations)"
            )
        }
        let registration = PushRegistration(handler: id, instance: instance, distributor: distributor.rawValue)
        return StoredRegistration(token: Self.newToken(), registration: registration)
    }

    /// Returns a token that nobody can guess: 160 random bits.
    private static func newToken() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<5).map { _ in
            let digits = String(UInt32.random(in: 0 ... .max, using: &generator), radix: 16)
            return String(repeating: "0", count: 8 - digits.count) + digits
        }.joined()
    }

    /// Chooses a distributor: the wanted one, the earlier one, or the first that runs or can be started.
    private func distributor(_ wanted: String?, _ earlier: String?) async throws -> BusName {
        if let wanted {
            guard wanted.hasPrefix(UnifiedPush.distributorPrefix), let name = BusName(wanted) else {
                let prefix = UnifiedPush.distributorPrefix
                throw RemoteError(.invalidArguments, "the name of a distributor starts with \(prefix)")
            }
            return name
        }
        let running = try await bus.names()
        let others = try await bus.activatableNames()
        let names = [running, others].flatMap { list in
            list.filter { $0.rawValue.hasPrefix(UnifiedPush.distributorPrefix) }
                .sorted { $0.rawValue < $1.rawValue }
        }
        if let earlier = names.first(where: { $0.rawValue == earlier }) { return earlier }
        guard let first = names.first else {
            throw RemoteError(.failed, "there is no UnifiedPush distributor; install one, such as kunifiedpush")
        }
        return first
    }

    private func register(_ stored: StoredRegistration, with distributor: BusName) async throws(RemoteError) {
        guard let distributors else { throw RemoteError(.failed, "there is no bus") }
        let problem: String
        do throws(CallError) {
            guard let reason = try await distributors.register(stored, for: RouterService.name, with: distributor)
            else {
                return
            }
            problem = "refuses the registration: \(reason)"
        } catch {
            problem = "did not register the handler: \(error)"
        }
        // A distributor may write anything, even the secrets that it shares with the router.
        let plain = [stored.token, stored.registration.endpoint].filter { !$0.isEmpty }
            .reduce(problem) { $0.replacing($1, with: "…") }
        let text = printableLine(plain.cut(toBytes: sessions.shared.limits.errorBytes))
        throw RemoteError(.failed, "\(distributor) \(text)")
    }

    private func newWaiter(for token: String) throws(OpenURLError) -> EndpointWaiter {
        guard waiters[token]?.count ?? 0 < Self.waitersPerRegistration else {
            throw OpenURLError(.limitsExceeded, "too many calls wait for this registration")
        }
        let waiter = EndpointWaiter(on: sessions.shared.loop)
        waiters[token, default: []].append(waiter)
        return waiter
    }

    private func remove(_ waiter: EndpointWaiter, of token: String) {
        waiters[token]?.removeAll { $0 === waiter }
        if waiters[token]?.isEmpty == true { waiters[token] = nil }
    }

    private func endpoint(
        of token: String,
        from distributor: BusName,
        _ waiter: EndpointWaiter
    ) async throws(RemoteError) -> PushRegistration {
        // If the waiter is no longer there, the endpoint is on its way to the disk.
        if let known = registrations[token]?.registration, !known.endpoint.isEmpty,
            waiters[token]?.contains(where: { $0 === waiter }) == true
        {
            return known
        }
        await waiter.wait(for: Self.endpointTime)
        guard let known = registrations[token]?.registration, !known.endpoint.isEmpty else {
            throw RemoteError(.failed, "\(distributor) gave no endpoint within \(Self.endpointTime.inWords)")
        }
        return known
    }

    /// Ends a handler's registration, if there is one.
    func unregister(_ id: BundleIdentifier, _ instance: String) async throws {
        try await load()
        if let stored = find(id.rawValue, instance) { try await end(stored) }
    }

    /// Ends all registrations of a handler that is no longer registered. Another program may get its identifier.
    func endAll(of id: BundleIdentifier) async {
        do throws(RemoteError) {
            try await load()
        } catch {
            log.error("registrations for pushes were not ended: \(error.message)", metadata: ["handler": "\(id)"])
        }
        for stored in registrations.values where stored.registration.handler == id.rawValue {
            do throws(RemoteError) {
                try await end(stored)
            } catch {
                log.error("a registration for pushes was not ended: \(error.message)", metadata: ["handler": "\(id)"])
            }
        }
    }

    private func end(_ stored: StoredRegistration) async throws(RemoteError) {
        registrations[stored.token] = nil
        for waiter in waiters.removeValue(forKey: stored.token) ?? [] { waiter.end() }
        try await save()
        guard let distributor = BusName(stored.registration.distributor) else { return }
        do throws(CallError) {
            try await distributors?.unregister(stored.token, with: distributor)
        } catch {
            // The router ignores its pushes from now on.
            log.debug("\(distributor) did not end a registration: \(error)")
        }
    }

    /// Returns the registrations that a caller may know about.
    ///
    /// - Throws: `failed` if they cannot be read.
    func list(for caller: BusName?) async throws(RemoteError) -> [PushRegistration] {
        try await load()
        let own = await callers.ownHandler(of: caller)
        return registrations.values.map(\.registration).filter { own == nil || $0.handler == own }
            .sorted { ($0.handler, $0.instance) < ($1.handler, $1.instance) }
    }

    /// Repeats the registrations with a distributor that has appeared on the bus, because it may have lost them.
    func distributorAppeared(_ name: BusName) {
        guard name.rawValue.hasPrefix(UnifiedPush.distributorPrefix),
            registrations.values.contains(where: { $0.registration.distributor == name.rawValue })
        else { return }
        // If it comes and goes, only the latest appearance counts.
        renewals.removeValue(forKey: name)?.cancel()
        renewals[name] = repeatRegistrations(with: name)
    }

    /// Repeats all registrations, so that changed endpoints become known ("On Application Startup"). Returns at once.
    ///
    /// - Parameter only: the only distributor that counts; nil for all.
    @discardableResult
    func repeatRegistrations(with only: BusName? = nil) -> Task<Void, Never>? {
        sessions.shared.tasks.start { [self] in
            do throws(RemoteError) {
                // The previous router may have been in use of them until now.
                try await load()
            } catch {
                log.notice("no pushes arrive for now: \(error.message)")
                if !isStopped { retry.start(in: Self.pause) { [weak self] in self?.repeatRegistrations() } }
                return
            }
            for stored in registrations.values where registrations[stored.token] != nil && !Task.isCancelled {
                guard let distributor = BusName(stored.registration.distributor), only == nil || only == distributor
                else { continue }
                do throws(RemoteError) {
                    try await register(stored, with: distributor)
                } catch {
                    log.notice(
                        "its push registration could not be renewed: \(error.message)",
                        metadata: ["handler": "\(stored.registration.handler)"]
                    )
                }
            }
        }
    }
}
