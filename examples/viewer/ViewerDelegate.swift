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
            "path": .string(replyText(kept)),
            "title": .string(replyText(lines.first?.prefix(200) ?? [])),
            "lines": .uint32(UInt32(clamping: endsComplete ? lines.count - 1 : lines.count)),
        ])
    }
}

/// Decodes bytes as text for a reply, in which a string may contain neither a NUL nor more than 30 combining marks in a
/// row.
private func replyText(_ bytes: some Collection<UInt8>) -> String {
    var text = String.UnicodeScalarView()
    var marks = 0
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
        marks = scalar.properties.canonicalCombiningClass == .notReordered ? 0 : marks + 1
        if scalar == "\0" || marks > 30 {
            text.append("\u{FFFD}")
            marks = 0
        } else {
            text.append(scalar)
        }
    }
    return String(text)
}
