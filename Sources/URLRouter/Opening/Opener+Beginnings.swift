internal import DBus
internal import Logging
internal import OpenURLBus
internal import RFC1808

/// Starts URLs on their way: those from calls, from the queue, and from callbacks.
extension Opener: DeliveryReceiver {
    /// Makes a request out of a caller's URL.
    ///
    /// - Parameters:
    ///   - bytes: the size of the call's arguments, for which the caller's application is charged; nil for the size of
    ///     the URL.
    ///   - stop: lets the caller cancel; nil if it cannot.
    ///   - inbox: the handler whose inbox holds the file, if the router has put it there; otherwise nil.
    ///   - waiting: the call that waits for the handler's answer; nil if the caller only opens the URL.
    func request(
        _ url: String,
        _ options: OpenOptions,
        of caller: BusName?,
        bytes: Int? = nil,
        stop: Stop? = nil,
        inbox: String? = nil,
        waiting: WaitingCall? = nil
    ) -> OpenRequest {
        let id = options.requestID?.rawValue ?? names.next()
        waiting?.requestID = id
        let kind = waiting == nil ? MonitorEntry.Kind.open : .call
        return OpenRequest(
            url,
            options,
            from: .caller(caller),
            named: id,
            bytes: bytes,
            stop: stop,
            inbox: inbox,
            waiting: waiting,
            observed: parts.monitor.observe(kind, url, fallback: options.fallback, named: id)
        )
    }

    func takes(_ delivery: Delivery) -> Bool { true }

    /// Tries once to deliver a URL from the queue. The registry and the rules may have changed since it was accepted.
    func attempt(_ delivery: Delivery, _ id: Int64, _ number: Int) async -> DeliveryAttempts.Result {
        let name = delivery.name(id)
        let observed = parts.monitor.observe(.attempt, delivery.url, attempt: number, at: delivery, named: name)
        let start = OpenRequest.Start.queue(delivery, id: "\(id)")
        let request = OpenRequest(delivery.url, delivery.options, from: start, named: name, observed: observed)
        request.sender = Caller(delivery.context.source)
        request.account = delivery.caller
        attempts[id] = request
        defer { attempts[id] = nil }
        do throws(OpenURLError) {
            return .delivered(try await open(request))
        } catch {
            return .failed(error, wasHandedOver: request.wasHandedOver)
        }
    }

    func withdraw(_ id: Int64) {
        guard let request = attempts[id] else { return }
        request.isDropped = true
        withdraw(request)
    }

    /// Opens the callback that the sender has asked for, if any, for the given outcome. Returns immediately.
    func open(_ asked: AskedCallbacks, _ outcome: Result<OpenResult, OpenURLError>) {
        guard let callback = asked.callback(for: outcome)?.description else { return }
        let observed = parts.monitor.observe(.callback, callback)
        let request = OpenRequest(
            callback,
            OpenOptions(),
            from: .callback(asked),
            named: names.next(),
            observed: observed
        )
        let sender = asked.answerer
        observed?.note { $0.source = sender.source }
        request.sender = sender
        request.account = sender.account
        parts.tasks.start {
            do throws(OpenURLError) {
                _ = try await self.open(request)
            } catch {
                // The caller already has its answer, so only log this. Redact the URL, which may contain one of the
                // caller's secrets.
                let reason = RedactedURL(callback).redacting(error.text)
                self.parts.sessions.shared.log.notice(
                    "a callback was not opened: \(reason)",
                    metadata: ["handler": "\(asked.session.id)"]
                )
            }
        }
    }
}
