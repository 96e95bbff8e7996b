internal import DBus
internal import OpenURLBus

extension OpenResult {
    /// The result without the values of the reply that hold descriptors: a descriptor means nothing in a file.
    var withoutDescriptors: OpenResult {
        var result = self
        result.reply = reply.filter { $0.value.descriptorCount == 0 }
        return result
    }
}
