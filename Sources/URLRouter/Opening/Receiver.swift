internal import OpenURLBus
internal import RFC1808

/// The part of the router that hands a URL over.
enum Receiver {
    /// The queue of a handler with a name on the bus.
    case handler(HandlerSession)
    /// One of the desktop's applications, or a handler's command.
    case application
    /// Storage for a later delivery.
    case store(DeliveryScheduler)
    /// Storage for a delivery to another host.
    indirect case host(HostName, GenericURL, DeliveryScheduler)
    /// A program that waits for the URL as its callback.
    indirect case claim(CallbackClaim, GenericURL)
    /// A call that the URL answers.
    indirect case call(GenericURL)
}
