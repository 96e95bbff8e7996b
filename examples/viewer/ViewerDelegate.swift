import DBus
import RFC1808
import URLHandler

/// Opens text files: the user's files where they are, and those in the inbox as its own documents.
final class ViewerDelegate: ApplicationDelegate {
    private let documents: Documents

    init(documents: Documents) {
        self.documents = documents
    }

    /// Answers with the path, the first line and the number of lines.
    ///
    /// If a file is in the inbox, it belongs to the handler, which moves it to its documents. Any other file belongs to
    /// the user, and the handler only reads it.
    func application(
        _ application: Application,
        open url: GenericURL,
        sourceApplication: String?,
        annotation: Value?
    ) throws -> OpenResponse {
        guard url.scheme == "file" else { return .declined(reason: "the viewer opens only files") }
        // File names are bytes, which need not be UTF-8.
        let path = url.pathSegments.flatMap { [UInt8(ascii: "/")] + $0.decodedBytes() }
        let text = try documents.read(path)
        let kept = try documents.keep(path)
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let endsComplete = text.isEmpty || text.last == UInt8(ascii: "\n")
        return .handled(reply: [
            "path": .string(String(decoding: kept, as: UTF8.self)),
            "title": .string(String(decoding: lines.first?.prefix(200) ?? [], as: UTF8.self)),
            "lines": .uint32(UInt32(clamping: endsComplete ? lines.count - 1 : lines.count)),
        ])
    }
}
