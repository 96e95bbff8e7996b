public import UserFiles

/// A bundle's localised names, icon and launch images.
///
/// A bare manifest has only an icon.
public struct BundleResources: Sendable, Hashable {
    /// The schemes' localised names, by abstract name (`CFBundleURLName`).
    public private(set) var urlNames: [String: String] = [:]
    /// The bundle's localised name.
    public private(set) var name: String?
    /// The name of an icon in the desktop's theme, or the path of an image.
    public private(set) var icon: String?
    /// Problems with the files of localised strings.
    public private(set) var diagnostics: [Diagnostic] = []

    private let directory: String
    private let imageName: String
    private var images: Set<String> = []
    /// The bundle's languages, as spelt in the names of its directories.
    private var languages: [String] = []

    /// The file of localised strings in each `<language>.lproj` directory.
    public static let stringsFile = "InfoPlist.strings"

    /// Reads a handler's resources. Blocks while it reads.
    ///
    /// - Parameter languages: the user's languages, such as `de_DE` and `de`, the preferred one first. If the bundle
    ///   has none of these languages, it is read in its development language (`en` or `Base`).
    public init(of handler: Handler, languages: [String]) {
        directory = handler.path
        imageName = handler.manifest.launchImageFile
        icon = handler.manifest.iconFile
        guard handler.isBundle else { return }
        do throws(FileError) {
            let names = Set(
                (try names(inDirectory: directory) ?? []).compactMap { String(validating: $0, as: UTF8.self) }
            )
            images = names.filter { $0.hasPrefix(imageName) && $0.hasSuffix(".png") }
            self.languages = names.filter { $0.hasSuffix(".lproj") }.map { String($0.dropLast(".lproj".count)) }
            if let name = icon, let file = [name, "\(name).png", "\(name).svg"].first(where: names.contains) {
                icon = "\(directory)/\(file)"
            }
        } catch {
            diagnostics.append(Diagnostic(severity: .warning, file: directory, reason: error.reason))
        }
        let (file, strings) = strings(languages)
        name = Self.name(in: strings)
        for abstract in handler.manifest.urlTypes.compactMap(\.name) {
            guard let name = strings[abstract] else { continue }
            if Self.isName(name) {
                urlNames[abstract] = name
            } else {
                let reason = "is empty, has a control character, or has more than \(Self.maximumNameLength) bytes"
                diagnostics.append(Diagnostic(severity: .warning, file: file, key: printable(abstract), reason: reason))
            }
        }
    }

    /// Returns the path of the image to show while the handler is launched for a URL with a scheme (guide, "Providing
    /// Launch Images for Custom URL Schemes").
    ///
    /// The image is the first that exists of `<base>-<scheme>.png`, `<base>-<scheme>@2x.png`, `<base>.png` and
    /// `<base>@2x.png`.
    public func launchImage(for scheme: Scheme? = nil) -> String? {
        let bases = [scheme.map { "\(imageName)-\($0)" }, imageName].compactMap { $0 }
        let names = bases.flatMap { ["\($0).png", "\($0)@2x.png"] }
        return names.first(where: images.contains).map { "\(directory)/\($0)" }
    }

    /// Reads the bundle's name in all its languages. The keys are languages in the form that locales use, such as
    /// `pt_BR`. Blocks while it reads.
    ///
    /// If a language's strings cannot be read, that language is left out.
    public func localizedNames() -> [String: String] {
        var names: [String: String] = [:]
        for language in languages.sorted().prefix(Self.maximumLanguages) where language != "Base" {
            do {
                let strings = try strings(in: "\(directory)/\(language).lproj/\(Self.stringsFile)")
                guard let name = Self.name(in: strings) else { continue }
                names[language.split(separator: "-").joined(separator: "_")] = name
            } catch {
                // For the user's languages, the initializer has already reported this.
                continue
            }
        }
        return names
    }

    private static let maximumLanguages = 256
    private static let maximumNameLength = 1024

    /// Returns the first name that is suitable for a list of applications.
    private static func name(in strings: [String: String]) -> String? {
        [strings["CFBundleDisplayName"], strings["CFBundleName"]].compactMap { $0 }.first(where: isName)
    }

    /// Whether a string is suitable as a name in a list for people to read.
    private static func isName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= maximumNameLength && !text.unicodeScalars.contains(where: isControl)
    }

    /// Reads a file of strings from the bundle.
    private func strings(in file: String) throws -> [String: String] {
        let resolved = try resolvedPath(file)
        guard isBelow(resolved, directory) else { throw FileError("is a link that leads out of the bundle") }
        return try StringsFile(try contents(ofFile: resolved, limit: StringsFile.limit)).strings
    }

    /// Reads the strings of the first of these languages that can be read.
    private mutating func strings(_ languages: [String]) -> (file: String, strings: [String: String]) {
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
                return (file, try strings(in: file))
            } catch {
                diagnostics.append(Diagnostic(severity: .warning, file: file, reason: String(describing: error)))
            }
        }
        return (directory, [:])
    }
}

extension Handler {
    /// Whether the handler is a bundle, not a bare manifest.
    public var isBundle: Bool { HandlerForm(name: path) == .bundle }
}
