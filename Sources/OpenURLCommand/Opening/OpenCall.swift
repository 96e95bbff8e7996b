internal import DBus
internal import OpenURLBus

/// What ``RouterInterface/openURL`` takes, as types that are not generic.
///
/// The contract's own generic types cost a search of all the program's conformances each when their metadata is made at
/// run time: together a sixth of what `openurl URL` takes.
struct OpenCall: MessageBody {
    /// Opens, and says how it went.
    static let method = Method<OpenCall, OpenResult>(RouterInterface.name, "OpenURL")
    /// Opens, for a caller that wants to know no more than that it succeeded.
    static let unread = Method<OpenCall, UnreadResult>(RouterInterface.name, "OpenURL")

    static let signature: Signature = "sa{sv}"

    let url: String
    let options: OpenOptions

    init(url: String, options: OpenOptions) {
        self.url = url
        self.options = options
    }

    init(from reader: inout MessageReader) throws(MessageDecodingError) {
        url = try String(from: &reader)
        options = try OpenOptions(from: &reader)
    }

    func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        try url.write(to: &writer)
        try options.write(to: &writer)
    }
}

/// A result that nobody looks into.
struct UnreadResult: MessageBody {
    static let signature: Signature = "a{sv}"

    init(from reader: inout MessageReader) throws(MessageDecodingError) {}

    func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        try [String: Value]().write(to: &writer)
    }
}
