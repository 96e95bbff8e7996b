/// A connection's subscriptions, by kind of signal.
struct Subscriptions {
    final class Entry {
        let id: UInt64
        let rule: MatchRule
        let text: String
        /// The current owner of a well-known sender. A watch on the name keeps this up to date.
        var owner: BusName?
        /// Whether the watch has reported an owner.
        var hasSeenOwnerChange = false
        var watch: NameWatchID?
        let deliver: (Message, _ sender: BusName?, ObjectPath) -> Void
        let finish: () -> Void

        init(
            id: UInt64,
            rule: MatchRule,
            text: String,
            deliver: @escaping (Message, BusName?, ObjectPath) -> Void,
            finish: @escaping () -> Void
        ) {
            self.id = id
            self.rule = rule
            self.text = text
            self.deliver = deliver
            self.finish = finish
        }
    }

    struct Kind: Hashable {
        let interface: InterfaceName
        let member: MemberName
    }

    private var entries: [Kind: [Entry]] = [:]
    private var kinds: [UInt64: Kind] = [:]
    private var lastID: UInt64 = 0

    mutating func nextID() -> UInt64 {
        lastID += 1
        return lastID
    }

    mutating func add(_ entry: Entry, _ kind: Kind) {
        entries[kind, default: []].append(entry)
        kinds[entry.id] = kind
    }

    mutating func remove(_ id: UInt64) -> Entry? {
        guard let kind = kinds.removeValue(forKey: id) else { return nil }
        guard let index = entries[kind]?.firstIndex(where: { $0.id == id }) else { return nil }
        defer { if entries[kind]?.isEmpty == true { entries[kind] = nil } }
        return entries[kind]?.remove(at: index)
    }

    func entry(_ id: UInt64) -> Entry? {
        kinds[id].flatMap { entries[$0]?.first { $0.id == id } }
    }

    /// Hands a signal to the subscriptions that it matches.
    ///
    /// - Parameter sender: The sender that the connection knows; nil if it knows none.
    func deliver(_ message: Message, from sender: BusName?) {
        guard let interface = message.interface, let member = message.member, let object = message.path else { return }
        for entry in entries[Kind(interface: interface, member: member)] ?? []
        where entry.matches(message, sender, object) {
            entry.deliver(message, sender, object)
        }
    }

    mutating func finish() {
        for entry in entries.values.joined() { entry.finish() }
        entries = [:]
        kinds = [:]
    }
}

extension Connection {
    /// Subscribes to a signal.
    ///
    /// Signals whose values do not have the types given in the description are left out.
    ///
    /// - Parameters:
    ///   - signal: The signal's description.
    ///   - rule: The conditions for the sender, the object and the arguments.
    ///   - capacity: The number of signals that may wait. Above this, the oldest is dropped, and the next signal's
    ///     ``ReceivedSignal/lost`` counts it.
    /// - Returns: The sequence of the signals.
    /// - Throws: ``CallError``, such as the bus's `LimitsExceeded` or `MatchRuleInvalid`.
    public func signals<Body: MessageBody>(
        _ signal: Signal<Body>,
        matching rule: MatchRule = MatchRule(),
        capacity: Int = 64
    ) async throws(CallError) -> SignalSequence<Body> {
        guard state == .open else { throw .disconnected }
        let buffer = SignalBuffer<Body>(capacity: capacity)
        let id = subscriptions.nextID()
        let limit = limits.bodyBytes
        let entry = Subscriptions.Entry(
            id: id,
            rule: rule,
            text: rule.text(signal.interface, signal.name),
            deliver: { message, sender, path in
                do throws(MessageDecodingError) {
                    let body: Body = try message.contents(limit: limit)
                    buffer.put(ReceivedSignal(sender: sender, path: path, body: body))
                } catch {
                    // It is another program's signal that happens to have the same name.
                }
            },
            finish: { buffer.finish() }
        )
        subscriptions.add(entry, Subscriptions.Kind(interface: signal.interface, member: signal.name))
        let subscription = Subscription(self, id)
        guard uniqueName != nil else { return SignalSequence(buffer: buffer, subscription: subscription) }
        do throws(CallError) {
            try await addMatch(entry.text)
        } catch {
            // This entry has no rule on the bus, so unsubscribing would remove the rule of another entry.
            _ = subscriptions.remove(id)
            throw error
        }
        if let sender = rule.sender, !sender.isUnique, sender != .bus {
            let watch = try await watchName(sender) { [unowned self] _, new in
                assumeIsolated { connection in
                    connection.subscriptions.entry(id)?.owner = new
                    connection.subscriptions.entry(id)?.hasSeenOwnerChange = true
                }
            }
            entry.watch = watch
            let owner = try await owner(of: sender)
            // The watch reports a change at once, but this answer reaches the task only when the task resumes, so it
            // may be older than the last reported change.
            if !entry.hasSeenOwnerChange { entry.owner = owner }
        }
        return SignalSequence(buffer: buffer, subscription: subscription)
    }

    func unsubscribe(_ id: UInt64) {
        guard let entry = subscriptions.remove(id), uniqueName != nil else { return }
        do throws(CallError) {
            if let watch = entry.watch { try unwatchName(watch) }
            try removeMatch(entry.text)
        } catch {
            // The connection has ended, and the bus has removed its rules.
        }
    }

    // MARK: Match rules

    func addMatch(_ text: String) async throws(CallError) {
        let added = matches.add(text) {
            Task {
                do throws(CallError) {
                    _ = try await call(BusDriver.addMatch, on: BusDriver.object, text)
                    return Result<Void, CallError>.success(())
                } catch {
                    return .failure(error)
                }
            }
        }
        do throws(CallError) {
            try await added.value.get()
        } catch {
            // Even if there was no answer, the bus may have added the rule. Removing a rule that the bus does not have
            // does no harm.
            if state == .open { try removeMatch(text) }
            throw error
        }
    }

    func removeMatch(_ text: String) throws(CallError) {
        if matches.remove(text) { try send(BusDriver.removeMatch, on: BusDriver.object, text) }
    }
}

extension Subscriptions.Entry {
    /// Whether the message matches this entry's rule. The bus may have sent it because of another of this connection's
    /// rules.
    fileprivate func matches(_ message: Message, _ sender: BusName?, _ path: ObjectPath) -> Bool {
        guard rule.matches(path: path) else { return false }
        if let expected = rule.sender, let sender, expected != sender {
            guard let owner, owner == sender else { return false }
        }
        return rule.arguments.isEmpty || argumentsMatch(message)
    }

    private func argumentsMatch(_ message: Message) -> Bool {
        var reader = MessageReader(message: message, limit: .max)
        var left = rule.arguments.count
        var position = 0
        do throws(MessageDecodingError) {
            while left > 0, reader.hasMore {
                if let expected = rule.arguments[position] {
                    // The bus compares bytes, but Swift's `==` compares canonical equivalence.
                    guard try reader.readString().utf8.elementsEqual(expected.utf8) else { return false }
                    left -= 1
                } else {
                    try reader.skip()
                }
                position += 1
            }
            return left == 0
        } catch {
            return false
        }
    }
}
