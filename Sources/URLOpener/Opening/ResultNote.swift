internal import DBus
internal import OpenURLBus

/// The part of a result that a note needs. Nothing else is decoded.
struct ResultNote: MessageBody {
    static let signature: Signature = "a{sv}"
    /// Opens a URL for a caller that only needs to know whether it worked, and whether there is anything to note.
    static let method = Method<SentURL, ResultNote>(RouterInterface.name, "OpenURL")

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
