internal import ByteCoding
internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry

/// URLs to other hosts and from other hosts.
///
/// Two queues make sure that each URL is opened once. The queue of this router keeps a URL until the other router has
/// answered, and sends it as often as it takes, under the same name. The other router's queue remembers the names, and answers
/// a repetition with the outcome of the first request. So it does not matter what a carrier loses or sends twice.
///
/// It belongs to the router's actor.
final class Hosts: DeliveryReceiver {
    private let opener: Opener
    /// Nil if there is nowhere to store URLs.
    private let deliveries: DeliveryScheduler?
    private let callers: Callers
    private let bridge: Bridge
    private let launcher: HandlerLauncher
    private let systemBus: SystemBus
    private let limits: RouterLimits
    private let tasks: RouterTasks
    private let log: Logger
    /// Nil if there is nowhere to keep the hosts.
    private let store: HostStore?
    private var list = HostList()
    /// Why lines of the file with the hosts, or the whole file, are not used.
    private(set) var problems: [String] = []
    private var links: [HostName: SSHLink] = [:]
    /// The name of this router's queue among those of all hosts; nil before it is first needed.
    private var identity: String?
    private var isStopped = false
    /// Follows the network while a host cannot be reached.
    private var networkFollower: Task<Void, Never>?
    private var isNetworkThere: Bool?

    /// The mark before the host's name, which the queue has in place of a handler for a URL to another host.
    static let handlerMark = "host:"
    /// How long a URL waits before it is sent again when the bridge has it, and says nothing.
    private static let bridgedDelay = Duration.seconds(600)
    /// How long a URL waits before it is sent again for another reason.
    private static let usualDelay = Duration.seconds(1)
    /// How long a URL waits for an outcome that the other router does not have yet.
    private static let outcomeDelay = Duration.seconds(5)

    init(
        _ opener: Opener,
        _ deliveries: DeliveryScheduler?,
        _ callers: Callers,
        _ bridge: Bridge,
        _ launcher: HandlerLauncher,
        _ systemBus: SystemBus,
        _ limits: RouterLimits,
        _ tasks: RouterTasks,
        _ store: HostStore?
    ) {
        self.opener = opener
        self.deliveries = deliveries
        self.callers = callers
        self.bridge = bridge
        self.launcher = launcher
        self.systemBus = systemBus
        self.limits = limits
        self.tasks = tasks
        self.store = store
        log = callers.sessions.shared.log
    }

    // MARK: The hosts

    /// Paths to watch: if one of them changes, the hosts change.
    var paths: Set<String> { store.map { [$0.path] } ?? [] }

    /// Reads the hosts. Until then, there are none.
    func load() async {
        if let store, let new = take(await store.read()) { list = new }
    }

    /// Notes the problems of the file, and returns the hosts in it.
    private func take(_ reading: HostReading) -> HostList? {
        problems = reading.problems
        return reading.list
    }

    /// Reads the hosts again.
    ///
    /// - Returns: whether nothing has to be read again because of a temporary error.
    func readAgain() async -> Bool {
        guard let store else { return true }
        guard let new = take(await store.read()) else { return false }
        if new != list {
            let hasMoved = use(new)
            // The caller has other files to read, and the disk of the queue may not respond.
            tasks.start { await self.tryAll(where: hasMoved) }
        }
        return true
    }

    /// Whether there is a way to a host or a group.
    func isKnown(_ host: HostName) -> Bool { list[host] != nil }

    /// Returns the hosts with their states.
    func listed() async throws(RemoteError) -> [HostEntry] {
        let waiting = try await deliveries?.waitingForHosts() ?? [:]
        let waitingNames = waiting.keys.map { String($0.dropFirst(Self.handlerMark.utf8.count)) }
        return Set(waitingNames).union(list.addresses.keys).sorted().map { name in
            let host = HostName(rawValue: name)
            let address = list.addresses[name] ?? host.flatMap { list[$0] }
            var entry = HostEntry(name: name, address: address?.description ?? "", state: .idle)
            entry.waiting = UInt32(clamping: waiting[Self.handlerMark + name] ?? 0)
            switch address {
            case .bridge: entry.state = .bridged
            case nil:
                entry.state = .unreachable
                entry.problem = Self.unknown(name).message
            case .ssh:
                guard let link = host.flatMap({ links[$0] }) else { break }
                entry.state = link.state
                entry.problem = link.problem
                entry.next = link.next.map { next in
                    let milliseconds = WallClock.milliseconds + (next - .now).milliseconds
                    return UInt64(max(milliseconds, 0) / 1000)
                }
            }
            return entry
        }
    }

    /// Adds a host, or changes its address.
    func add(_ name: String, _ address: String) async throws(RemoteError) {
        guard let parsed = HostAddress(address) else {
            throw RemoteError(
                .invalidArguments,
                "'\(address)' is not an address: write ssh:HOST, ssh:USER@HOST or bridge:"
            )
        }
        guard let name = HostList.name(name, for: parsed) else {
            throw RemoteError(.invalidArguments, HostName.problem(with: name))
        }
        guard list.addresses[name] != nil || list.addresses.count < HostList.limit else {
            throw RemoteError(.limitsExceeded, "there are \(HostList.limit) hosts already")
        }
        try await change(name, to: parsed)
    }

    /// Removes a host.
    func remove(_ name: String) async throws(RemoteError) {
        let name = name.lowercased()
        guard list.addresses[name] != nil else {
            throw RemoteError(.invalidArguments, "there is no host '\(name)'; 'openurl hosts' lists the hosts")
        }
        try await change(name, to: nil)
    }

    private func change(_ name: String, to address: HostAddress?) async throws(RemoteError) {
        guard let store else {
            throw RemoteError(.failed, "there is no directory for the hosts; set HOME or XDG_CONFIG_HOME")
        }
        guard let new = take(try await store.change(name, to: address)) else {
            let reason = "the change is written, but the file cannot be read at the moment"
            throw RemoteError(.failed, "\(reason); it takes effect as soon as the router can read it")
        }
        let hasMoved = use(new)
        await tryAll(where: { $0.rawValue == name || hasMoved($0) })
    }

    /// Switches to other hosts, and ends the links to earlier addresses.
    ///
    /// - Returns: a function that says whether a host has another address than before. A host with the same address
    ///   is tried at its own time.
    private func use(_ new: HostList) -> (HostName) -> Bool {
        let old = list
        list = new
        for (host, link) in links where new[host] != .ssh(link.destination) {
            links[host] = nil
            link.stop()
        }
        return { new[$0] != old[$0] }
    }

    /// Tries the waiting URLs of some hosts.
    private func tryAll(where isMeant: (HostName) -> Bool) async {
        do throws(RemoteError) {
            for handler in try await deliveries?.waitingForHosts().keys.sorted() ?? [] {
                let host = HostName(rawValue: String(handler.dropFirst(Self.handlerMark.utf8.count)))
                if let host, isMeant(host) { deliveries?.tryWaiting(for: handler) }
            }
        } catch {
            log.error("URLs for other hosts: \(error.message)")
        }
    }

    /// Tries the URLs of the bridge's hosts, because the bridge has appeared.
    func nameAppeared(_ name: BusName) {
        guard name == BridgeInterface.service else { return }
        tasks.start { await self.tryAll(where: { self.list[$0] == .bridge }) }
    }

    /// Tries the URLs of a host that has appeared at the bridge, or all; or only those to which answers have arrived there.
    func appeared(_ name: String, _ requests: [String], caller: BusName?) async throws {
        try await bridge.check(caller)
        if name.isEmpty {
            await tryAll(where: { self.list[$0] == .bridge })
        } else if requests.isEmpty {
            // All hosts may appear at once, so do not search the queue for each.
            guard let host = HostName(rawValue: name), list[host] == .bridge else { return }
            deliveries?.tryWaiting(for: Self.handlerMark + host.rawValue)
        } else {
            let ids = requests.compactMap { request in
                let parts = request.split(separator: ".")
                return parts.count == 4 && parts[0] == identity ?? "" ? Int64(parts[1]) : nil
            }
            deliveries?.tryWaiting(ids)
        }
    }

    /// Ends the sessions. The URLs wait for the next router.
    func stop() {
        isStopped = true
        networkFollower?.cancel()
        for link in links.values { link.stop() }
    }

    // MARK: Sending

    /// Decides about a URL to another host before it is stored.
    ///
    /// - Throws: `notAllowed` for a sender that is confined or unknown; `noHandler` if there is no such host.
    func check(_ host: HostName, from sender: Caller) throws(OpenURLError) {
        guard sender.callerClass == .user || sender.callerClass == .handler else {
            throw OpenURLError(.notAllowed, "this program may not open URLs on other hosts")
        }
        guard isKnown(host) else { throw Self.unknown(host.rawValue) }
    }

    private static func unknown(_ name: String) -> OpenURLError {
        name.hasPrefix("@")
            ? OpenURLError(.noHandler, "there is no group '\(name)'; 'openurl hosts add --bridge \(name)' adds it")
            : OpenURLError(.noHandler, "there is no host '\(name)'; 'openurl hosts add \(name) USER@HOST' adds it")
    }

    func takes(_ delivery: Delivery) -> Bool { delivery.options.host != nil }

    /// An attempt that has begun cannot be withdrawn: the other host may have the URL already.
    func withdraw(_ id: Int64) {}

    func attempt(_ delivery: Delivery, _ id: Int64, _ number: Int) async -> DeliveryAttempts.Result {
        guard let host = delivery.options.host, let deliveries, !isStopped else {
            return .postponed(OpenURLError(.timedOut, "the router is exiting"), Self.usualDelay)
        }
        let handler = Self.handlerMark + host.rawValue
        do throws(OpenURLError) {
            let identity = try await identity(deliveries)
            // Any member of a group may answer for it, so another host must not be able to guess the name.
            let nonce = delivery.nonce.isEmpty ? "" : ".\(delivery.nonce)"
            var request = HostRequest(
                id: "\(identity).\(id).\(delivery.turn).\(delivery.round)\(nonce)",
                delivery.url,
                delivery.options.forOtherHost
            )
            request.hops = delivery.context.hops
            let lifetime = delivery.expires.map { Duration.milliseconds(max($0 - WallClock.milliseconds, 1)) }
            request.options.lifetime = lifetime
            switch list[host] {
            case .ssh(let destination):
                let link = link(to: host, destination)
                let reply = await link.send(request, lifetime: lifetime)
                let waits = OpenURLError(.timedOut, "\(host) has the URL, but no outcome yet")
                return result(of: reply, to: delivery, from: host, within: lifetime, waits, Self.outcomeDelay)
            case .bridge:
                guard let reply = await bridge.send(request, to: host) else {
                    deliveries.hold(handler)
                    let start = "'systemctl --user start openurl-bridge' starts it"
                    let problem = OpenURLError(.launchFailed, "no program is the bridge; \(start)")
                    return postponed(problem, Self.usualDelay, delivery, host)
                }
                // The bridge says when it has reached the broker.
                if case .answer(.failed(let error)) = reply, error.name == .disconnected { deliveries.hold(handler) }
                let waits = OpenURLError(.timedOut, "the broker has the URL, but there is no outcome from \(host) yet")
                return result(of: reply, to: delivery, from: host, within: lifetime, waits, Self.bridgedDelay)
            case nil:
                deliveries.hold(handler)
                return postponed(Self.unknown(host.rawValue), Self.usualDelay, delivery, host)
            }
        } catch {
            return postponed(error, Self.outcomeDelay, delivery, host)
        }
    }

    private func identity(_ deliveries: DeliveryScheduler) async throws(OpenURLError) -> String {
        if let identity { return identity }
        let found = try await deliveries.identity()
        identity = found
        return found
    }

    private func link(to host: HostName, _ destination: String) -> SSHLink {
        if let link = links[host] { return link }
        let handler = Self.handlerMark + host.rawValue
        let link = SSHLink(
            host,
            destination,
            launcher,
            tasks,
            log,
            hold: { [unowned self] in
                deliveries?.hold(handler)
                followNetwork()
            },
            release: { [unowned self] in
                followNetwork()
                tasks.start {
                    await self.deliveries?.expiry.endExpired()
                    self.deliveries?.tryWaiting(for: handler)
                }
            }
        )
        links[host] = link
        return link
    }

    /// Follows the network while a host cannot be reached, and tries all such hosts when the machine is connected again.
    private func followNetwork() {
        guard links.values.contains(where: { $0.next != nil }), !isStopped else {
            networkFollower?.cancel()
            return networkFollower = nil
        }
        guard networkFollower == nil else { return }
        isNetworkThere = nil
        networkFollower = tasks.start {
            await self.systemBus.follow(PropertySource.network.place) { self.take(network: $0) }
        }
    }

    private func take(network properties: [String: Value]) {
        let isThere = PropertySource.network.values(properties)[.network]?.options?["connected"]?.bool
        defer { isNetworkThere = isThere ?? isNetworkThere }
        guard isThere == true, isNetworkThere == false else { return }
        for link in links.values { link.networkChanged() }
    }

    /// Returns the result of an attempt without an outcome. If the host may have the URL since an earlier attempt, its error
    /// says so too: it is what the user reads if there is never an outcome.
    private func postponed(
        _ error: OpenURLError,
        _ delay: Duration,
        _ delivery: Delivery,
        _ host: HostName
    ) -> DeliveryAttempts.Result {
        let note = "\(host) may have the URL"
        let marks = [note, "has the URL, but"]
        guard let earlier = delivery.problem, marks.contains(where: earlier.contains),
            !marks.contains(where: error.message.contains)
        else { return .postponed(error, delay) }
        return .postponed(OpenURLError(error.code, QuotingText(quoting: "\(error.message); \(note)")), delay)
    }

    private func result(
        of reply: HostReply,
        to delivery: Delivery,
        from host: HostName,
        within lifetime: Duration?,
        _ waits: OpenURLError,
        _ outcomeDelay: Duration
    ) -> DeliveryAttempts.Result {
        switch reply {
        case .answer(.opened(let result)) where result.way == .queued:
            // The next attempt may be the one that finds that the URL has expired.
            return postponed(waits, min(outcomeDelay, lifetime ?? outcomeDelay), delivery, host)
        case .answer(.opened(var result)):
            // Its number belongs to the other host's queue.
            result.id = nil
            return .delivered(result)
        case .answer(.failed(let error)):
            // Every outcome has one of the router's codes. Any other error means that the request was not taken.
            guard let outcome = OpenURLError(error) else {
                let problem = OpenURLError(.limitsExceeded, "\(host): \(error.message)")
                return postponed(problem, Self.outcomeDelay, delivery, host)
            }
            return .refused(OpenURLError(outcome.code, "\(host): \(outcome.message)"))
        case .none(let reason):
            return postponed(OpenURLError(.timedOut, QuotingText(quoting: reason)), Self.usualDelay, delivery, host)
        }
    }

    // MARK: Receiving

    /// Takes a request from another host, and returns its outcome. If there is none in time, the result's way is `queued`.
    ///
    /// - Parameter name: the host's name, for which the carrier answers; empty if none is proved.
    /// - Throws: `OpenURLError` for an outcome; another error if the request was not taken.
    func receive(_ name: String, _ request: HostRequest) async throws -> OpenResult {
        guard let deliveries else { throw RemoteError(.failed, "this router has no directory for its queue") }
        let host = name.isEmpty ? nil : HostName(rawValue: name)
        guard name.isEmpty || host?.isGroup == false, request.isNamed else {
            throw RemoteError(.invalidArguments, "the name of the host or of the request cannot be used")
        }
        var context = OpenContext()
        context.source = OpenContext.Source(otherHost: host)
        context.hops = request.hops &+ 1
        guard request.hops < limits.hops else {
            throw OpenURLError(.loopDetected, "\(request.hops) handlers and hosts in a row have opened each other")
        }
        let options = request.options.fromOtherHost
        // No two hosts may share names, or one could ask for the outcomes of another.
        let origin = host.map { "the host \($0)" } ?? "other hosts"
        let key = RequestKey(origin: origin, name: request.id, digest: request.digest)
        do {
            let id: Int64
            // A rule may have changed since the request was taken.
            if let known = try await deliveries.outcomes.received(key) {
                id = known.id
            } else {
                let delivery = Delivery(url: request.url, handler: "", options: options, context: context)
                id = try await accept(delivery, of: key, deliveries)
            }
            if let result = try await deliveries.outcomes.outcome(of: key, id) { return result }
        } catch let error as OpenURLError {
            throw error.forConfinedCallers
        } catch let error as RemoteError {
            // Its text has the path of the queue, and with it the user's name.
            log.warning("a request from another host was not taken: \(error.message)", metadata: ["host": "\(name)"])
            let reason = error.name == .limitsExceeded ? "has no room for another request" : "cannot use its queue now"
            throw RemoteError(error.name, "this router \(reason)")
        }
        return OpenResult(handler: "", way: .queued, reply: [:], trace: [])
    }

    /// Puts a request into the queue, and returns its number.
    ///
    /// - Throws: `OpenURLError` if it is refused for good; another error if it was not taken and may be repeated.
    private func accept(
        _ asked: Delivery,
        of key: RequestKey,
        _ deliveries: DeliveryScheduler
    ) async throws -> Int64 {
        let handler: String
        do throws(OpenURLError) {
            try opener.checkScheme(of: asked)
            handler = try await opener.receiver(of: asked).get()
        } catch {
            let reason = RedactedURL(asked.url).redacting(error.text)
            let host = asked.context.source.host ?? ""
            log.notice("a URL from another host was refused: \(reason)", metadata: ["host": "\(host)"])
            throw error
        }
        let delivery = Delivery(url: asked.url, handler: handler, options: asked.options, context: asked.context)
        do throws(OpenURLError) {
            return try await deliveries.accept(delivery, of: key)
        } catch {
            throw RemoteError(error.code == .limitsExceeded ? .limitsExceeded : .failed, error.message)
        }
    }
}

extension OpenContext.Source {
    /// Creates the source of a URL from another host.
    ///
    /// - Parameter host: the host's name; nil if none is proved.
    init(otherHost host: HostName?) {
        self.init()
        callerClass = .known(.remote)
        self.host = host?.rawValue
    }
}

extension OpenOptions {
    /// The options that mean something on another host.
    fileprivate var forOtherHost: OpenOptions {
        var options = OpenOptions()
        options.annotation = annotation
        options.handler = handler
        options.timeout = timeout
        options.inBackground = inBackground
        options.traceParent = traceParent
        options.lifetime = lifetime
        return options
    }

    /// The options that a URL from another host may have in the queue.
    fileprivate var fromOtherHost: OpenOptions {
        var options = forOtherHost
        options.isQueued = true
        return options
    }
}

extension HostRequest {
    /// A checksum of the URL, the handler and `inBackground`, which stay the same when the request is repeated.
    ///
    /// The other options are not part of it. The checksums of stored requests depend on this.
    fileprivate var digest: Int64 {
        var checksum = Checksum()
        checksum.add("\(options.handler ?? "")\n\(options.inBackground)\n\(url)")
        return Int64(bitPattern: checksum.value)
    }
}
