public import DBus

/// `org.openurl.Push1`, at the router's object: pushes from the handlers' servers.
///
/// The router is the connector of UnifiedPush for all handlers (``UnifiedPush``). It registers them with a distributor
/// under its own name, stores each push before it acknowledges it, and then delivers it with ``HandlerInterface/wake``
/// (``LaunchReason/push``), as a URL from the queue is delivered: in order, and again after 1, 2, 4 … 60 s if the
/// handler could not be started, crashed, or was busy. While a push waits, ``QueueInterface/list`` shows it with the URL
/// `unifiedpush:` and the instance. If the handler refuses it, it stays there as a dead letter.
///
/// A handler may register only itself; the user's programs may register any handler.
public enum PushInterface {
    /// Name of the interface.
    public static let name: InterfaceName = "org.openurl.Push1"

    /// Registers a handler for pushes, or returns its registration if it has one with this instance. Returns when the
    /// distributor has given the endpoint, which takes at most 20 s.
    ///
    /// The registration lasts until ``unregister`` or until the distributor ends it; the router repeats it when it
    /// starts. If the endpoint changes later, the handler is woken with a notification of the kind ``endpointKind``. A
    /// handler may have 16 registrations, and all handlers together 1024.
    ///
    /// The error is ``OpenURLError/Code/noHandler`` if there is no such handler, and
    /// `org.freedesktop.DBus.Error.Failed` if there is no distributor, or if it refuses; the message gives the reason.
    public static let register = Method<Arguments<String, PushOptions>, PushRegistration>(
        name,
        "Register",
        inputs: ["id", "options"],
        outputs: ["registration"]
    )
    /// Ends the registration of a handler with this instance. Pushes that have arrived before are still delivered. If
    /// there is no such registration, nothing happens.
    public static let unregister = Method<Arguments<String, String>, Empty>(
        name,
        "Unregister",
        inputs: ["id", "instance"]
    )
    /// Returns the registrations, in the order of their handlers and instances. A handler sees only its own.
    public static let list = Method<Empty, [PushRegistration]>(name, "List", outputs: ["registrations"])

    /// The kind of the notification about changed endpoints. The value is a dictionary from the instance to the new
    /// endpoint, which is empty if the distributor has ended the registration.
    public static let endpointKind = "org.openurl.Push1.Endpoint"
    /// Number of registrations that a handler may have.
    public static let registrationsPerHandler = 16
    /// Number of registrations that all handlers together may have.
    public static let registrations = 1024
    /// Size of an instance's name in bytes.
    public static let instanceBytes = 64
}
