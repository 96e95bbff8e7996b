internal import DBus
internal import OpenURLBus

extension OpenOptions {
    /// Takes the descriptors out of the options of a call.
    ///
    /// A request continues when its caller has left the bus, and the descriptors of the call are closed then.
    ///
    /// - Throws: `cancelled` if they are closed already.
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
