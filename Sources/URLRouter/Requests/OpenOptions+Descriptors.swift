internal import DBus
internal import OpenURLBus

extension OpenOptions {
    /// Takes the descriptors out of the options of a call.
    ///
    /// This is because a request continues after its caller has left the bus, but the descriptors of the call are
    /// closed then.
    ///
    /// - Throws: `cancelled` if they are already closed.
    func takingDescriptors() throws(OpenURLError) -> OpenOptions {
        guard let annotation else { return self }
        guard let taken = annotation.takingDescriptors() else {
            throw OpenURLError(.cancelled, "the caller left the bus, which closed the annotation's descriptors")
        }
        var options = self
        options.annotation = taken
        return options
    }
}
