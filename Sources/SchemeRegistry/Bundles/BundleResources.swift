public import UserFiles

/// What a bundle holds besides its manifest for people to see: names in their language, and launch images.
///
/// A bare manifest has none.
public struct BundleResources: Sendable, Hashable {
    /// The names of the schemes by their abstract names (`CFBundleURLName`), in the user's language.
    public private(set) var urlNames: [String: String] = [:]
    /// The bundle's name in the user's language.
    public private(set) var name: String?
    /// What is wrong with the files of localised strings.
    public private(set) var diagnostics: [Diagnostic] = []

    private let directory: String
    private let imageName: String
    private var images: Set<String> = []

    /// The name of the files of localised strings, one in each `<language>.lproj`.
    public static let stringsFile = "InfoPlist.strings"

    /// Reads what there is for a handler; blocks on files.
    ///
    /// - Parameter languages: the user's, such as `de_DE` and `de`, the first choice first. Where the bundle has none of
    ///   them, its development language (`en`, `Base`) speaks.
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

    /// The image to show while the handler is launched for a URL of a scheme (guide, "Providing Launch Images for Custom URL
    /// Schemes"): `<base>-<scheme>.png` or `<base>-<scheme>@2x.png`, else `<base>.png` or `<base>@2x.png`.
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
    /// Whether it is a bundle and no bare manifest.
    public var isBundle: Bool { HandlerForm(name: path) == .bundle }
}
