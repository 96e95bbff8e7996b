public import UserFiles

/// A bundle's localised names, icon and launch images.
///
/// A bare manifest has only an icon.
public struct BundleResources: Sendable, Hashable {
    /// The schemes' localised names, by abstract name (`CFBundleURLName`).
    public private(set) var urlNames: [String: String] = [:]
    /// The localised names of the kinds of files, by abstract name (`CFBundleTypeName`).
    public private(set) var typeNames: [String: String] = [:]
    /// The bundle's localised name.
    public private(set) var name: String?
    /// The name of an icon in the desktop's theme, or the path of an image.
    public private(set) var icon: String?
    /// Problems with the files of localised strings.
    public private(set) var diagnostics: [Diagnostic] = []

    private let directory: String
    private let imageName: String
    /// The launch images by their names, which come from the user's preferred language that has any, and from the
    /// bundle itself.
    private var images: [String: String] = [:]
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
        icon = handler.manifest.icons.first
        guard handler.isBundle else { return }
        do throws(FileError) {
            let names = Set(
                (try names(inDirectory: directory) ?? []).compactMap { String(validating: $0, as: UTF8.self) }
            )
            findImages(names, in: directory)
            self.languages = names.filter { $0.hasSuffix(".lproj") }.map { String($0.dropLast(".lproj".count)) }
            let files = handler.manifest.icons.flatMap { [$0, "\($0).png", "\($0)@2x.png", "\($0).svg"] }
            if let file = files.first(where: names.contains) { icon = "\(directory)/\(file)" }
        } catch {
            diagnostics.append(Diagnostic(severity: .warning, file: directory, reason: error.reason))
        }
        let present = Self.spellings(of: languages).filter(self.languages.contains)
        for language in present.reversed() { findImages(in: "\(directory)/\(language).lproj") }
        let (file, strings) = strings(languages)
        name = Self.name(in: strings)
        urlNames = localized(handler.manifest.urlTypes.compactMap(\.name), strings, file)
        typeNames = localized(handler.manifest.documentTypes.compactMap(\.name), strings, file)
    }

    /// Returns the localised names of those abstract names that have a suitable one, and reports the others.
    private mutating func localized(
        _ abstractNames: [String],
        _ strings: [String: String],
        _ file: String
    ) -> [String: String] {
        var names: [String: String] = [:]
        for abstract in abstractNames {
            guard let name = strings[abstract] else { continue }
            if Self.isName(name) {
                names[abstract] = name
            } else {
                let reason = "is empty, has a control character, or has more than \(Self.maximumNameLength) bytes"
                diagnostics.append(Diagnostic(severity: .warning, file: file, key: printable(abstract), reason: reason))
            }
        }
        return names
    }

    /// Adds the launch images of a language, unless its directory is a link that leads out of the bundle.
    private mutating func findImages(in directory: String) {
        do throws(FileError) {
            guard isBelow(try resolvedPath(directory), self.directory) else { return }
            let found = try names(inDirectory: directory) ?? []
            findImages(found.compactMap { String(validating: $0, as: UTF8.self) }, in: directory)
        } catch {
            diagnostics.append(Diagnostic(severity: .warning, file: directory, reason: error.reason))
        }
    }

    /// Adds the launch images among the files of a directory, in place of others with the same names.
    private mutating func findImages(_ names: some Sequence<String>, in directory: String) {
        for name in names where name.hasPrefix(imageName) && name.hasSuffix(".png") {
            images[name] = "\(directory)/\(name)"
        }
    }

    /// Returns the path of the image to show while the handler is launched for a URL with a scheme (guide, "Providing
    /// Launch Images for Custom URL Schemes").
    ///
    /// The image is the first that exists of `<base>-<scheme>.png`, `<base>-<scheme>@2x.png`, `<base>.png` and
    /// `<base>@2x.png`. The image of one of the user's languages, in a directory such as `de.lproj`, replaces the
    /// bundle's image with the same name.
    public func launchImage(for scheme: Scheme? = nil) -> String? {
        let bases = [scheme.map { "\(imageName)-\($0)" }, imageName].compactMap { $0 }
        let names = bases.flatMap { ["\($0).png", "\($0)@2x.png"] }
        return names.lazy.compactMap { images[$0] }.first
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

    /// Returns the languages in which the bundle may have resources, in the spelling of its directories, each once.
    private static func spellings(of languages: [String]) -> [String] {
        let spellings = languages.flatMap { [$0, $0.split(separator: "_").joined(separator: "-")] } + ["en", "Base"]
        var seen: Set<String> = []
        return spellings.filter { seen.insert($0).inserted }
    }

    /// Reads the strings of the first of these languages that can be read.
    private mutating func strings(_ languages: [String]) -> (file: String, strings: [String: String]) {
        for language in Self.spellings(of: languages) {
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
