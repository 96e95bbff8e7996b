internal import CDBus

/// The interface `org.freedesktop.DBus.Peer`, which every connection answers by itself.
public enum PeerInterface {
    /// Returns when the other end has received everything that was sent before.
    public static let ping = Method<Empty, Empty>(name, "Ping")

    static let name: InterfaceName = "org.freedesktop.DBus.Peer"

    /// A call of this interface.
    ///
    /// libdbus could answer these calls too, but would use serials that do not increase with those of the connection.
    enum Call {
        case ping
        case getMachineID

        /// Returns nil for a call of another interface.
        init?(_ call: OpaquePointer) {
            // A call may leave out the interface.
            let isMeant = dbus_message_get_interface(call) == nil
            guard isMeant || name.withCString({ dbus_message_has_interface(call, $0) }) != 0 else { return nil }
            if dbus_message_has_member(call, "Ping") != 0 {
                self = .ping
            } else if dbus_message_has_member(call, "GetMachineId") != 0 {
                self = .getMachineID
            } else {
                return nil
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
