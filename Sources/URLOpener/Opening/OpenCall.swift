internal import DBus
internal import OpenURLBus

/// The arguments of `RouterInterface.openURL`, as a type that is not generic.
///
/// At run time, Swift creates the metadata of each generic type that the contract is built from, and searches the whole
/// program's conformances to do so. Without this type, `openurl URL` takes 5 % longer when the handler is already
/// running (4.21 instead of 4.00 ms), and 7 % more processor time. A test compares this type's description with the
/// contract's.
struct OpenCall: MessageBody {
    /// Opens a URL, and returns the result.
    static let method = Method<OpenCall, OpenResult>(RouterInterface.name, "OpenURL")
    /// Opens a URL, and waits for the handler's answer.
    static let call = Method<OpenCall, OpenResult>(RouterInterface.name, "Call")
    /// Opens a URL for a caller that only needs to know whether it worked, and whether there is anything to note.
    static let noted = Method<OpenCall, ResultNote>(RouterInterface.name, "OpenURL")

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

/// The part of a result that a note needs. Nothing else is decoded.
struct ResultNote: MessageBody {
    static let signature: Signature = "a{sv}"

    private var handler = ""
    private var runsEarlierProgram = false

    /// The handler's identifier if its process runs an earlier program; nil otherwise.
    var earlierProgram: String? { runsEarlierProgram ? handler : nil }

    init(from reader: inout MessageReader) throws(MessageDecodingError) {
        var result = (handler: "", runsEarlierProgram: false)
        try reader.readArray { (reader) throws(MessageDecodingError) in
            try reader.readEntry { (reader) throws(MessageDecodingError) in
                switch try reader.readString() {
                case "handler": result.handler = try reader.readVariant().string ?? ""
                case "earlier-program": result.runsEarlierProgram = try reader.readVariant().bool ?? false
                default: try reader.skip()
                }
            }
        }
        (handler, runsEarlierProgram) = result
    }

    func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        try [String: Value]().write(to: &writer)
    }
}
