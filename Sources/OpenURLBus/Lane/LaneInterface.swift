package import DBus

/// `org.openurl.Lane1`, at ``path`` of a lane: the exchange with which a program begins.
///
/// All interfaces of the router are at their usual paths on a lane.
package enum LaneInterface {
    /// The interface's name.
    package static let name: InterfaceName = "org.openurl.Lane1"
    /// The path of the object.
    package static let path: ObjectPath = "/org/openurl/Lane1"
    /// The object, for a caller.
    package static let object = RemoteObject(nil, path)

    /// Returns the unique name of the caller on the lane.
    package static let hello = Method<Empty, String>(name, "Hello", outputs: ["name"])
    /// Offers this connection to the router for a handler's calls. The router uses the connection while the caller's process owns
    /// the handler's name on the bus.
    package static let offer = Method<String, Empty>(name, "Offer", inputs: ["handler"])
}
