internal import Desktop
internal import RFC1808
internal import SchemeRegistry

/// The scheme, URL, handler or application that the user asks about.
struct Topic: Hashable {
    /// The schemes to examine.
    let schemes: [Scheme]
    /// The URL, if the user gave one.
    var url: String?
    /// The host of the URL, if it has one.
    var host: String?
    /// The identifier of the handler or application, if the user gave one.
    var identifier: String?

    /// Interprets a command line's argument.
    ///
    /// Text with a colon is a URL. Text without a dot that something claims as a scheme is a scheme. The name of a
    /// handler, an entry or a manifest is an identifier. Any other text is a scheme.
    ///
    /// - Returns: nil if the text is none of these.
    init?(_ text: String, _ files: ExaminedFiles) {
        if let colon = text.firstIndex(of: ":") {
            guard let scheme = Scheme(checking: String(text[..<colon])) else { return nil }
            schemes = [scheme]
            url = text
            host = Self.host(of: text)
            return
        }
        let named = Scheme(checking: text)
        if let named, !text.contains("."), files.areClaimed(named) {
            schemes = [named]
            return
        }
        let name = DesktopFileID.name(in: text) ?? text
        let handler = files.registry.handler(named: name)
        let entry = DesktopFileID(name: name).flatMap { id in files.all.first { $0.location.id == id } }
        let manifest = files.manifests.first { $0 == "\(name).plist" || $0 == "\(name).app" }
        if handler != nil || entry != nil || manifest != nil {
            var found = handler?.schemes ?? []
            switch entry?.content {
            case .application(let entry) where entry.handler == nil:
                found += entry.urlSchemes.compactMap(Scheme.init(checking:))
            case .invalid: found += entry.map(Self.writtenSchemes) ?? []
            default: break
            }
            schemes = found
            identifier = name
            return
        }
        guard let scheme = named else { return nil }
        // A scheme may have dots too. If nothing claims this one, it is probably the name of a handler that no longer
        // exists.
        if text.contains("."), !files.areClaimed(scheme) {
            schemes = []
            identifier = text
        } else {
            schemes = [scheme]
        }
    }

    /// Returns the host of a URL; nil if it has none, or if the text is not a URL.
    private static func host(of text: String) -> String? {
        do throws(GenericURL.ParseError) {
            return try GenericURL(text).host.flatMap { $0.isEmpty ? nil : String($0) }
        } catch {
            return nil
        }
    }

    /// The schemes that an unusable entry claims.
    private static func writtenSchemes(_ file: DesktopFile) -> [Scheme] {
        let prefix = "x-scheme-handler/"
        let types = DesktopFile.writtenValue(of: "MimeType", inFile: file.location.file) ?? ""
        return types.lowercased().split(separator: ";").filter { $0.hasPrefix(prefix) }
            .compactMap { Scheme(checking: String($0.dropFirst(prefix.count))) }
    }
}

extension Scheme {
    /// Creates a scheme; nil if the text is not one.
    init?(checking text: String) {
        do throws(ParseError) {
            try self.init(text)
        } catch {
            return nil
        }
    }
}
