public import UserFiles

/// The localised names and the launch images of a bundle.
///
/// A bare manifest has none of these.
public struct BundleResources: Sendable, Hashable {
    /// The localised names of the schemes, by abstract name (`CFBundleURLName`).
    public private(set) var urlNames: [String: String] = [:]
    /// The localised name of the bundle.
    public private(set) var name: String?
    /// The problems of the files of localised strings.
    public private(set) var diagnostics: [Diagnostic] = []

    private let directory: String
    private let imageName: String
    private var images: Set<String> = []

    /// The name of the file of localised strings in each `<language>.lproj` directory.
    public static let stringsFile = "InfoPlist.strings"

    /// Reads the resources of a handler. Blocks while it reads.
    ///
    /// - Parameter languages: the user's languages, such as `de_DE` and `de`, the preferred one first. If the bundle
    ///   has none of them, the bundle's development language is used (`en` or `Base`).
    public init(of handler: Handler, languages: [String]) {
        directory = handler.path
        imageName = handler.manifest.launchImageFile
        guard handler.isBundle else { return }
        do throws(FileError) {
            let names = try names(inDirectory: directory) ?? []
            for name in names.compactMap({ String(validating: $0, as: UTF8.self) })
            where name.hasPrefix(imageName) && name.hasSuffix(".png") {
                images.insert(name)
            }
        } catch {
            diagnostics.append(Diagnostic(severity: .warning, file: directory, reason: error.reason))
        }
        let strings = strings(languages)
        name = strings["CFBundleDisplayName"] ?? strings["CFBundleName"]
        for abstract in handler.manifest.urlTypes.compactMap(\.name) { urlNames[abstract] = strings[abstract] }
    }

    /// Returns the path of the image to show while the handler is launched for a URL of a scheme (guide, "Providing
    /// Launch Images for Custom URL Schemes").
    ///
    /// The candidates are `<base>-<scheme>.png`, `<base>-<scheme>@2x.png`, `<base>.png` and `<base>@2x.png`, in this
    /// order.
    public func launchImage(for scheme: Scheme? = nil) -> String? {
        let bases = [scheme.map { "\(imageName)-\($0)" }, imageName].compactMap { $0 }
        let names = bases.flatMap { ["\($0).png", "\($0)@2x.png"] }
        return names.first(where: images.contains).map { "\(directory)/\($0)" }
    }

    private mutating func strings(_ languages: [String]) -> [String: String] {
        let spellings = languages.flatMap { [$0, $0.split(separator: "_").joined(separator: "-")] } + ["en", "Base"]
        var seen: Set<String> = []
        for language in spellings where seen.insert(language).inserted {
            let file = "\(directory)/\(language).lproj/\(Self.stringsFile)"
            do throws(FileError) {
                _ = try status(of: file, followingLinks: true)
            } catch {
                continue
            }
            do {
                let resolved = try resolvedPath(file)
                guard isBelow(resolved, directory) else { throw FileError("is a link that leads out of the bundle") }
                return try StringsFile(try contents(ofFile: resolved, limit: StringsFile.limit)).strings
            } catch {
                diagnostics.append(Diagnostic(severity: .warning, file: file, reason: String(describing: error)))
            }
        }
        return [:]
    }
}

extension Handler {
    /// Whether the handler is a bundle, not a bare manifest.
    public var isBundle: Bool { HandlerForm(name: path) == .bundle }
}
