package import DBus
internal import DequeModule
package import Logging
internal import MQTT
internal import OpenURLBus
internal import Reactor
internal import UserFiles

/// Moves requests between a router and a broker of MQTT.
///
/// It keeps nothing that must not be lost: the router's queue has each URL until its outcome is known, and the router at the
/// other end remembers which requests it has had. So a message that the broker loses is sent again, and one that arrives twice
/// is opened once.
package actor Bridge {
    private let configuration: BridgeConfiguration
    private let connection: Connection
    private let loop: EventLoop
    private let log: Logger
    private var client: MQTTClient?
    private var isConnected = false
    private var isStopped = false
    private var problem = "it has not been reached yet"
    private var failures = 0
    /// The router's connection to the bus; nil if none is running.
    private var router: BusName?
    /// Whether the bus has reported a change of ``router``.
    private var isRouterReported = false

    /// Requests to other hosts.
    private var sent = SentRequests()
    /// The names of the requests that the broker has not answered, by the numbers of the publications.
    private var unanswered: [Int32: String] = [:]
    private var followed = FollowedHosts()
    /// Hosts whose last appearance had an effect a moment ago, and whether they have appeared again since.
    private var justAppeared: [HostName: Bool] = [:]
    /// Number of the router's calls that wait for the outcome of a published request.
    private var underWay = 0
    /// The router's calls that wait for their turn. The router makes at most one at a time for each URL in its queue, which has a
    /// bound, and one that has waited for ``longestTurn`` ends as soon as its turn comes.
    private var line: Deque<CheckedContinuation<Void, Never>> = []
    /// Requests from other hosts that the router has not answered yet.
    private var receiving = 0
    /// Number of messages that were not what they should be.
    private var ignored = 0
    /// The broker's reasons for refusing messages since it was reached. MQTT has a short list of them.
    private var refusals: Set<String> = []
    /// The broker's reasons for refusing subscriptions since it was reached.
    private var subscriptionRefusals: Set<String> = []

    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Number of requests that wait for their outcomes. The broker keeps a thousand messages for this host, and would lose the
    /// outcomes of more requests that end at the same time.
    private static let underWayLimit = 512
    /// Number of requests from other hosts that the router has not answered. Until there are fewer, nothing is read.
    private static let receivingLimit = 256
    /// The longest time that a call of the router waits for its turn. A little later, the router gives up.
    private static let longestTurn = Duration.seconds(8)
    /// The shortest time between two appearances of a host that have an effect. A host could appear without end.
    private static let appearancePause = Duration.seconds(10)
    /// The longest time between two attempts to reach the broker.
    private static let longestDelay = Duration.seconds(60)

    package init(_ configuration: BridgeConfiguration, on connection: Connection, log: Logger) {
        self.configuration = configuration
        self.connection = connection
        loop = connection.loop
        self.log = log
    }

    // MARK: Start and end

    /// Begins to serve the router and to reach the broker.
    ///
    /// - Throws: the reason why the bridge cannot run here, in words.
    package func start() async throws(BridgeProblem) {
        await connection.export(
            [
                ExportedInterface(
                    BridgeInterface.name,
                    [
                        .method(BridgeInterface.send) { [weak self] call, input in
                            guard let self else { throw RemoteError(.disconnected, "the bridge is exiting") }
                            return try await self.send(input.values.0, input.values.1, for: call.sender)
                        }
                    ]
                )
            ],
            at: BridgeInterface.path
        )
        do throws(CallError) {
            _ = try await connection.watchName(RouterService.name) { [weak self] _, owner in
                self?.assumeIsolated {
                    $0.isRouterReported = true
                    $0.router = owner
                }
            }
            let owner = try await connection.owner(of: RouterService.name)
            // A report may have overtaken the answer.
            if !isRouterReported { router = owner }
            guard try await connection.requestName(BridgeInterface.service) == .owned else {
                throw CallError.remote(RemoteError(.failed, "another program has its name"))
            }
        } catch {
            throw BridgeProblem("the bridge cannot run on this bus: \(error)")
        }
        connect()
    }

    /// Ends the connection to the broker, which tells other hosts that this one is gone.
    package func stop() {
        isStopped = true
        client?.close(publishesWill: true)
        client = nil
        for request in sent.all { request.end(nil) }
    }

    // MARK: The broker

    private func connect() {
        guard !isStopped else { return }
        var events = MQTTClient.Events()
        events.connected = { [unowned self] isKnown in assumeIsolated { $0.connected(isSessionPresent: isKnown) } }
        events.ended = { [unowned self] reason in assumeIsolated { $0.ended(reason) } }
        events.received = { [unowned self] message in assumeIsolated { $0.take(message) } }
        events.published = { [unowned self] number, refusal in assumeIsolated { $0.published(number, refusal) } }
        events.subscriptionRefused = { [unowned self] filter, reason in
            assumeIsolated { $0.subscriptionRefused(filter, reason) }
        }
        let client = MQTTClient(configuration.options, on: loop, events)
        self.client = client
        loop.startTask {
            do throws(MQTTError) {
                try await client.connect()
            } catch {
                self.ended("\(error)")
            }
        }
    }

    private func connected(isSessionPresent: Bool) {
        failures = 0
        isConnected = true
        log.notice("connected to the broker", metadata: ["session": "\(isSessionPresent ? "continued" : "new")"])
        // Even if the broker has kept the session, it may have lost messages on either way. The other host knows what it has had.
        for request in sent.all { request.wasLost() }
        refusals = []
        subscriptionRefusals = []
        followed.forgetPresence()
        client?.subscribe(to: BridgeTopic.subscriptions(of: configuration.name, in: configuration.groups))
        followPresence(of: followed.names)
        do throws(PublishError) {
            let topic: String = BridgeTopic.presence(of: configuration.name)
            _ = try client?.publish(BridgeTopic.online, to: topic, isRetained: true)
        } catch {
            log.warning("other hosts cannot see that this one is there: \(error)")
        }
        tell("", [])
    }

    private func ended(_ reason: String) {
        guard !isStopped else { return }
        client = nil
        isConnected = false
        if problem != reason || failures == 0 { log.warning("the broker cannot be reached: \(printableLine(reason))") }
        problem = reason
        // The broker may not have what it has not acknowledged.
        for name in unanswered.values { sent[name]?.wasLost() }
        unanswered = [:]
        for request in sent.all { request.end(nil) }
        failures += 1
        // The hosts that lose a broker together must not come back together.
        let longest = min(.seconds(1 << min(failures - 1, 6)), Self.longestDelay)
        let delay = longest * Double.random(in: 0.5...1)
        loop.schedule(at: .now + delay) { [weak self] in self?.assumeIsolated { $0.connect() } }
    }

    private func published(_ number: Int32, _ refusal: String?) {
        if let refusal, refusals.insert(refusal).inserted {
            log.error("the broker refuses what this host publishes: \(printableLine(refusal))")
        }
        guard let name = unanswered.removeValue(forKey: number), let request = sent[name] else { return }
        if let refusal { request.wasRefused(refusal) }
        // There is no need to wait for a host that is not there. The broker has told of each that was ever there by now.
        if refusal != nil || !request.host.isGroup && !followed.isThere(request.host) { request.end(nil) }
    }

    private func subscriptionRefused(_ filter: String, _ reason: String) {
        // A broker that does not let this host see who is there refuses a subscription for each host.
        guard subscriptionRefusals.insert(reason).inserted else { return }
        log.error("the broker refuses the subscription to \(filter): \(printableLine(reason))")
    }

    // MARK: Requests of the router

    /// Takes a request of the router; see `BridgeInterface.send`.
    private func send(_ name: String, _ request: HostRequest, for caller: BusName?) async throws -> OpenResult {
        // Otherwise, every program on the bus could speak for this host. For the router, this would not be an outcome.
        guard let caller, caller == router else {
            throw RemoteError(.failed, "only the router may send through the bridge")
        }
        guard let host = HostName(rawValue: name), request.isNamed else {
            throw RemoteError(.invalidArguments, "the name of the host or of the request cannot be used")
        }
        let begin = ContinuousClock.now
        await enter()
        defer { leave() }
        guard .now - begin < Self.longestTurn else {
            throw RemoteError(.failed, "too many requests wait for outcomes at the bridge")
        }
        var request = request
        request.options.lifetime = request.options.lifetime.map { $0 - (.now - begin) }
        let known = sent[request.id] ?? SentRequest(to: host)
        guard known.host == host else { throw RemoteError(.invalidArguments, "another request has this name") }
        if let kept = known.kept {
            return try take(MessageArchive.body(from: kept.bytes, limit: HostFrames.limit), of: request.id)
        }
        guard isConnected else { throw RemoteError(.disconnected, "the broker cannot be reached: \(problem)") }
        follow(host)
        if known.isDue { try publish(request, known) }
        sent.remember(known, request.id)
        let timer = loop.schedule(at: .now + HostsInterface.outcomeTime) { known.end(nil) }
        defer { loop.cancelTimer(timer) }
        if let outcome = await known.wait() { return try take(outcome, of: request.id) }
        // This is no outcome: another broker, or the same one with other rules, may take the request.
        if let refusal = known.refusal { throw RemoteError(.failed, "the broker refuses the request: \(refusal)") }
        return OpenResult(handler: "", way: .queued, reply: [:], trace: [])
    }

    /// Waits until fewer requests wait for their outcomes.
    private func enter() async {
        await withCheckedContinuation { continuation in
            guard underWay < Self.underWayLimit else { return line.append(continuation) }
            underWay += 1
            continuation.resume()
        }
    }

    private func leave() {
        if let next = line.popFirst() { next.resume() } else { underWay -= 1 }
    }

    private func publish(_ request: HostRequest, _ known: SentRequest) throws {
        let lifetime = request.options.lifetime ?? HostsInterface.longestLifetime
        // The broker counts whole seconds, and a URL must not be opened too late. This is no outcome, because the host may have
        // the URL since an earlier publication.
        guard lifetime >= .seconds(1) else { throw RemoteError(.failed, "the URL expires within a second") }
        guard let client else { throw RemoteError(.disconnected, "the broker cannot be reached: \(problem)") }
        var request = request
        request.options.lifetime = lifetime
        do {
            let number = try client.publish(
                MessageArchive.bytes(of: request, limit: HostsInterface.largestRequest),
                to: BridgeTopic.open(at: known.host, from: configuration.name),
                expiry: SentRequest.expiry(of: lifetime, to: known.host),
                responseTopic: BridgeTopic.outcomes(at: configuration.name),
                correlation: Array(request.id.utf8)
            )
            known.published()
            unanswered[number] = request.id
        } catch let error as MessageEncodingError {
            throw OpenURLError(.limitsExceeded, "the URL and its options cannot be sent: \(error)")
        } catch PublishError.tooLarge(let limit) {
            // No later attempt could succeed.
            throw OpenURLError(.limitsExceeded, "the URL and its options exceed the broker's limit of \(limit) bytes")
        } catch PublishError.notConnected {
            throw RemoteError(.disconnected, "the broker cannot be reached: \(problem)")
        } catch {
            throw RemoteError(.failed, "the request cannot be published: \(error)")
        }
    }

    private func take(_ outcome: OpenOutcome, of name: String) throws -> OpenResult {
        sent.forget(name)
        switch outcome {
        case .opened(let result): return result
        case .failed(let error): throw error
        }
    }

    private func follow(_ host: HostName) {
        guard !host.isGroup else { return }
        switch followed.follow(host, isNeeded: { sent.hasRequests(to: $0) }) {
        case .none: return
        case .added: break
        case .replaced(let other): client?.unsubscribe(from: BridgeTopic.presence(of: other))
        }
        followPresence(of: [host])
    }

    private func followPresence(of hosts: Set<HostName>) {
        // Otherwise, when many hosts appear together, their messages take the room of outcomes at the broker.
        client?.subscribe(to: hosts.map(BridgeTopic.presence), isQueued: false)
    }

    /// Tells the router that it may try again.
    private func tell(_ host: String, _ requests: [String]) {
        loop.startTask { [self] in
            do throws(CallError) {
                let router = RemoteObject(RouterService.name, RouterService.path)
                _ = try await connection.call(HostsInterface.appeared, on: router, Arguments(host, requests))
            } catch {
                log.debug("the router was not told: \(error)")
            }
        }
    }

    // MARK: Messages of other hosts

    private func take(_ message: MQTTMessage) {
        switch BridgeTopic(message.topic) {
        case .open(let host, let sender): receive(message, at: host, from: sender)
        case .outcome(let host, let sender) where host == configuration.name: takeOutcome(message, from: sender)
        case .presence(let host): takePresence(message, of: host)
        case .outcome, nil: ignore("of an unknown topic")
        }
    }

    private func ignore(_ reason: String) {
        ignored += 1
        // A hostile host could fill the log.
        if ignored.nonzeroBitCount == 1 {
            log.notice("a message \(reason) was ignored", metadata: ["ignored": "\(ignored)"])
        }
    }

    private func takePresence(_ message: MQTTMessage, of host: HostName) {
        guard followed.names.contains(host) else {
            // The broker keeps the subscriptions of this host's earlier bridges with the session.
            client?.unsubscribe(from: BridgeTopic.presence(of: host))
            return
        }
        guard followed.note(host, isThere: message.payload == BridgeTopic.online) else { return }
        guard justAppeared[host] == nil else { return justAppeared[host] = true }
        appeared(host)
    }

    /// Lets the router try again what waits for a host.
    private func appeared(_ host: HostName) {
        justAppeared[host] = false
        loop.schedule(at: .now + Self.appearancePause) { [weak self] in
            self?.assumeIsolated { if $0.justAppeared.removeValue(forKey: host) == true { $0.appeared(host) } }
        }
        // The host, or the broker, may have lost requests and outcomes while the host was away.
        for request in sent.all where request.host == host && request.kept == nil {
            request.wasLost()
            request.end(nil)
        }
        tell(host.rawValue, [])
    }

    private func takeOutcome(_ message: MQTTMessage, from sender: HostName) {
        let name = message.correlation.map { String(decoding: $0, as: UTF8.self) } ?? ""
        guard let request = sent[name], request.host == sender || request.host.isGroup, request.kept == nil,
            message.payload.count <= HostFrames.limit
        else { return }
        let outcome: OpenOutcome
        do throws(MessageDecodingError) {
            outcome = try MessageArchive.body(from: message.payload, limit: HostFrames.limit)
        } catch {
            return ignore("that is no outcome")
        }
        if request.end(outcome) { return }
        // The router's call has ended, and its next one gets the outcome.
        // If there is no room, the host repeats the outcome when it gets the request again, and by then a call waits for it. The
        // router is told of one such loss for each publication, so a host cannot make it ask without end.
        guard sent.keep(message.payload, from: sender, for: name) || request.wasLost() else { return }
        tell(sender.rawValue, [name])
    }

    private func receive(_ message: MQTTMessage, at host: HostName, from sender: HostName) {
        guard host == configuration.name || configuration.groups.contains(host) else {
            // The broker keeps the subscriptions of this host's earlier bridges with the session, and would go on giving this
            // host a share of the group's URLs.
            if host.isGroup { client?.unsubscribe(from: BridgeTopic.share(of: host)) }
            return ignore("for another host")
        }
        // A broker keeps a retained message without end.
        guard !message.isRetained else { return ignore("that was kept") }
        guard message.responseTopic == BridgeTopic.outcomes(at: sender) else {
            return ignore("whose answer would go elsewhere")
        }
        let request: HostRequest
        do throws(MessageDecodingError) {
            guard message.payload.count <= HostsInterface.largestRequest else { throw .invalidValue("too large") }
            var body: HostRequest = try MessageArchive.body(from: message.payload, limit: HostFrames.limit)
            guard body.isNamed, message.correlation == Array(body.id.utf8) else {
                throw .invalidValue("without its name")
            }
            let longest = HostsInterface.longestLifetime
            // The time at the broker counts.
            let lifetime = min(body.options.lifetime ?? message.expiry ?? longest, longest)
            let expiry = SentRequest.expiry(of: lifetime, to: host)
            body.options.lifetime = lifetime - expiry + min(message.expiry ?? expiry, expiry)
            request = body
        } catch {
            return ignore("that is no request")
        }
        guard request.options.lifetime != .zero else { return ignore("that had expired") }
        receiving += 1
        client?.isReading = receiving < Self.receivingLimit
        loop.startTaskImmediately {
            let outcome = await self.outcome(of: request, from: sender)
            self.receiving -= 1
            self.client?.isReading = self.receiving < Self.receivingLimit
            self.answer(outcome, to: request.id, of: sender)
        }
    }

    private func outcome(of request: HostRequest, from sender: HostName) async -> OpenOutcome {
        do throws(CallError) {
            let result = try await connection.call(
                HostsInterface.receive,
                on: RouterService.object,
                Arguments(sender.rawValue, request),
                timeout: HostsInterface.outcomeTime + .seconds(10)
            )
            return .opened(result)
        } catch .remote(let error) {
            return .failed(error)
        } catch {
            return .failed(RemoteError(.noReply, "\(error)"))
        }
    }

    /// Publishes an outcome. If it does not arrive, the other host asks again.
    private func answer(_ outcome: OpenOutcome, to name: String, of sender: HostName) {
        do {
            try publish(outcome, to: name, of: sender)
        } catch PublishError.notConnected {
            log.debug("an outcome waits until the other host asks again")
        } catch {
            // An outcome that is too large would be so each time that the other host asks.
            do {
                try publish(outcome.shortened, to: name, of: sender)
            } catch {
                log.error("an outcome cannot be sent: \(error)")
            }
        }
    }

    private func publish(_ outcome: OpenOutcome, to name: String, of sender: HostName) throws {
        guard let client else { throw PublishError.notConnected }
        _ = try client.publish(
            MessageArchive.bytes(of: outcome, limit: HostsInterface.largestRequest),
            to: BridgeTopic.outcome(at: sender, from: configuration.name),
            expiry: HostsInterface.longestLifetime,
            correlation: Array(name.utf8)
        )
    }
}
