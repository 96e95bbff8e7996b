internal import DBus
internal import OpenURLBus

extension OpenOptions {
    /// Takes the descriptors out of a call's options.
    ///
    /// A request continues after its caller has left the bus, but at that point the call's descriptors are closed.
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
