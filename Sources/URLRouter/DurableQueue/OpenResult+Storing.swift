internal import DBus
internal import OpenURLBus

extension OpenResult {
    /// This result without the reply's values that contain descriptors, which would mean nothing in a file.
    var withoutDescriptors: OpenResult {
        var result = self
        result.reply = reply.filter { $0.value.descriptorCount == 0 }
        return result
    }
}
