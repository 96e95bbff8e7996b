@testable import DBus

/// What tests ask about the calls that have arrived.
extension Connection {
    var hasNoCalls: Bool { incomingCalls.isIdle }

    var waitingCalls: Int { incomingCalls.waiting }

    var hasFreeAccounts: Bool { incomingCalls.accounts.isEmpty }

    func isHeld(_ sender: BusName) -> Bool { incomingCalls.isHeld(sender) }

    /// Number of bytes that wait for callers without a bus, unless there are few.
    var countedBytes: Int { incomingCalls.accounts.waiting.total }
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
