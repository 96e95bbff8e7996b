internal import DBus
internal import Reactor

/// Asks the user with a notification that has actions.
struct NotifiedPerson: PersonAsking {
    let services: ServiceOwners
    /// Whether the bus may start the service.
    let mayStart: Bool

    func ask(_ dialog: PolicyDialog, within time: Duration) async -> PersonReply? {
        do throws(CallError) {
            guard let service = try await NotificationService.find(among: services, starting: mayStart) else {
                return nil
            }
            let capabilities = try await service.capabilities()
            guard capabilities.contains("actions") else { return nil }
            return try await ask(dialog, service, capabilities, within: time)
        } catch {
            return nil
        }
    }

    private func ask(
        _ dialog: PolicyDialog,
        _ service: NotificationService,
        _ capabilities: [String],
        within time: Duration
    ) async throws(CallError) -> PersonReply {
        let loop = service.connection.loop
        let signals = try await service.signals()
        let choices = PersonReply.choices(isMemorable: dialog.isMemorable)
        let question = NotificationService.Notification(
            icon: "dialog-question",
            title: dialog.title,
            text: "\(dialog.text)\n\(dialog.shownURL)",
            actions: choices.map { ($0.rawValue, $0.label) },
            urgency: .critical
        )
        let (shown, showing) = AsyncStream<Result<UInt32, CallError>>.makeStream(bufferingPolicy: .bufferingOldest(1))
        loop.startTask {
            do throws(CallError) {
                let id = try await service.show(question, capabilities)
                // If the question was withdrawn meanwhile, nobody else closes its notification.
                if case .terminated = showing.yield(.success(id)) { try await service.close(id) }
            } catch {
                showing.yield(.failure(error))
            }
        }
        // If the task is cancelled, the stream ends at once, so that a slow service does not hold up other questions.
        guard let result = await shown.first(where: { _ in true }) else { return .late }
        let id = try result.get()
        let (replies, continuation) = AsyncStream<PersonReply>.makeStream(bufferingPolicy: .bufferingOldest(1))
        let waiting = [
            loop.startTask {
                for await signal in signals.invoked where signal.body.values.0 == id {
                    continuation.yield(choices.first { $0.rawValue == signal.body.values.1 } ?? .no)
                }
                continuation.finish()
            },
            loop.startTask {
                for await signal in signals.closed where signal.body.values.0 == id { continuation.yield(.no) }
            },
        ]
        let timer = loop.schedule(at: .now + time) { continuation.yield(.late) }
        // If the task is cancelled, the stream ends without an element.
        let reply = await replies.first { _ in true } ?? (Task.isCancelled ? .late : .no)
        loop.cancelTimer(timer)
        for task in waiting { task.cancel() }
        if reply == .late { try await service.close(id) }
        return reply
    }
}
