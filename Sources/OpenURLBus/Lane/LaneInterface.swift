package import DBus

/// `org.openurl.Lane1`, at ``path`` of a lane: the exchange that a program begins with.
///
/// On a lane, all the router's interfaces are at their usual paths.
package enum LaneInterface {
    /// Name of the interface.
    package static let name: InterfaceName = "org.openurl.Lane1"
    /// Path of the object.
    package static let path: ObjectPath = "/org/openurl/Lane1"
    /// This object, for a caller.
    package static let object = RemoteObject(nil, path)

    /// Returns the caller's unique name on the lane.
    package static let hello = Method<Empty, String>(name, "Hello", outputs: ["name"])
    /// Offers this connection to the router for a handler's calls. The router uses it while the caller's process owns
    /// the handler's name on the bus.
    package static let offer = Method<String, Empty>(name, "Offer", inputs: ["handler"])
}
