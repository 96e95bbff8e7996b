internal import CLinux
internal import Glibc
internal import Processes

/// The translations into the user's language, from `share/locale/LANGUAGE/LC_MESSAGES/openurl.mo` in the directory above
/// that of this program.
struct Catalogue: Sendable {
    private static let domain = "openurl"

    /// The catalogue of this process; nil if its texts stay in English. Nothing is read before the first text is shown.
    static let ofProcess = ProcessProgram.path(ofNeighbour: "../share/locale").flatMap { Catalogue(in: $0) }

    // A locale does not change, so all threads may use it.
    private nonisolated(unsafe) let locale: locale_t

    /// Opens the catalogue for the environment's locale; nil if the directory has none, or if English is wanted.
    init?(in directory: String) {
        let variable = { (name: String) in getenv(name).map { String(cString: $0) } }
        guard Self.isWanted(variable), let locale = user_message_locale() else { return nil }
        guard bindtextdomain(Self.domain, directory) != nil, bind_textdomain_codeset(Self.domain, "UTF-8") != nil,
            // The header of a catalogue is the translation of the empty text.
            translation_of(locale, Self.domain, "") != nil
        else {
            freelocale(locale)
            return nil
        }
        // The texts of the system's errors have their own catalogue.
        bind_textdomain_codeset("libc", "UTF-8")
        self.locale = locale
    }

    /// Returns whether the environment asks for a language other than English, by the rules of gettext.
    static func isWanted(_ variable: (String) -> String?) -> Bool {
        func set(_ name: String) -> String? { variable(name).flatMap { $0.isEmpty ? nil : $0 } }
        guard let locale = set("LC_ALL") ?? set("LC_MESSAGES") ?? set("LANG"), locale != "POSIX",
            locale.prefix(while: { $0 != "." }) != "C"
        else { return false }
        let language = (set("LANGUAGE") ?? locale).prefix { $0.isASCII && $0.isLetter }
        return language != "en"
    }

    /// Returns the translation of a text; nil if there is none.
    func translation(of key: String) -> String? {
        // The key of the catalogue's header is the empty text.
        key.isEmpty ? nil : translation_of(locale, Self.domain, key).map { String(cString: $0) }
    }

    /// Returns the translation of a text in the form for a number of things; nil if there is none.
    func translation(of one: String, _ other: String, _ count: UInt) -> String? {
        plural_translation_of(locale, Self.domain, one, other, count).map { String(cString: $0) }
    }

    /// Returns the text of an error of the system.
    func text(ofError code: CInt) -> String { String(cString: strerror_l(code, locale)) }
}
