internal import CDBus

/// `org.freedesktop.DBus.Peer`, which every connection answers by itself.
public enum PeerInterface {
    /// Returns when the other end has received everything that was sent before.
    public static let ping = Method<Empty, Empty>(name, "Ping")

    static let name: InterfaceName = "org.freedesktop.DBus.Peer"

    /// A call to this interface.
    enum Call {
        case ping
        case getMachineID

        /// Reads a call; nil if it is for another interface.
        init?(_ call: Message) {
            // A call may leave out its interface.
            guard call.interface == nil || call.interface == PeerInterface.name else { return nil }
            switch call.member {
            case PeerInterface.ping.name: self = .ping
            case "GetMachineId": self = .getMachineID
            default: return nil
            }
        }

        func answer(at address: ReplyAddress, limit: Int) throws(MessageEncodingError) -> WrittenMessage {
            if case .ping = self { return try .reply(to: address, Empty(), limit: limit) }
            guard let machine = dbus_try_get_local_machine_id(nil) else {
                return try .error(to: address, RemoteError(.failed, "this machine has no ID"), limit: limit)
            }
            defer { dbus_free(machine) }
            return try .reply(to: address, String(cString: machine), limit: limit)
        }
    }
}
