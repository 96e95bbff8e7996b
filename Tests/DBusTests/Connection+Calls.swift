@testable import DBus

/// The questions of tests about the calls that have arrived.
extension Connection {
    var hasNoCalls: Bool { server.calls.isIdle }

    var waitingCalls: Int { server.calls.waiting }

    var hasFreeAccounts: Bool { server.calls.accounts.isEmpty }

    func isHeld(_ sender: BusName) -> Bool { server.calls.isHeld(sender) }

    /// Number of bytes that wait for callers without a bus, unless there are few.
    var countedBytes: Int { server.calls.accounts.waiting.total }

    /// Number of descriptors that have arrived without the rest of their message.
    var countedDescriptors: Int { arrivedDescriptors.count }
}

/// The questions of tests about this connection's own messages.
extension Connection {
    /// Number of calls that are waiting for their answers.
    var callsInFlight: Int { pendingCalls.count }

    /// Number of messages that are waiting until the other end has taken earlier ones.
    var queuedMessages: Int { outgoing.queuedMessages }
}

extension WrittenMessage {
    /// Writes a call to a method that has no description elsewhere.
    static func methodCall<Input: MessageBody>(
        _ interface: InterfaceName,
        _ member: MemberName,
        on object: RemoteObject,
        _ input: Input,
        limit: Int
    ) throws(MessageEncodingError) -> WrittenMessage {
        try methodCall(Method<Input, Empty>(interface, member), on: object, input, limit: limit)
    }
}
