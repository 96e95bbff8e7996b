@testable import DBus

/// The calls that have arrived, as the tests look at them.
extension Connection {
    var hasNoCalls: Bool { incomingCalls.isIdle }

    var waitingCalls: Int { incomingCalls.waiting }

    func isHeld(_ sender: BusName) -> Bool { incomingCalls.isHeld(sender) }
}

extension WrittenMessage {
    /// Writes a call to a method that is described only here.
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
