import Foundation
import TestSupport
import Testing

@testable import Translations

/// Catalogues of gettext, each in a process of its own, because the environment chooses the language.
@Suite(.timeLimit(.minutes(10))) struct CatalogueTests {
    @Test func aCatalogueIsFoundByTheLanguage() async {
        await #expect(processExitsWith: .success) {
            let catalogue = try #require(
                try Self.catalogue("de", plural: "nplurals=2; plural=(n != 1);", ["Fehler", "Fehler"])
            )
            #expect(catalogue.translation(of: "%1$s is \"here\"") == "„%1$s“ ist da")
            #expect(catalogue.translation(of: "nothing translates this") == nil)
            #expect(catalogue.translation(of: "untranslated") == nil)
            // This is where the catalogue has its header.
            #expect(catalogue.translation(of: "") == nil)
            #expect(catalogue.translation(of: "failure", "failures", 2) == "Fehler")
            #expect(catalogue.translation(of: "no such", "no such things", 2) == nil)
        }
    }

    @Test func aLanguageMayHaveThreeForms() async {
        await #expect(processExitsWith: .success) {
            let rule = "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || n%100>=20) ? 1 : 2);"
            let catalogue = try #require(try Self.catalogue("pl", plural: rule, ["błąd", "błędy", "błędów"]))
            for (count, form) in [
                (0, "błędów"), (1, "błąd"), (2, "błędy"), (5, "błędów"), (12, "błędów"), (22, "błędy"),
            ] {
                #expect(catalogue.translation(of: "failure", "failures", UInt(count)) == form, "\(count)")
            }
        }
    }

    @Test func aLanguageWithoutACatalogueStaysEnglish() async {
        await #expect(processExitsWith: .success) {
            let polish = try Self.file("pl", plural: "nplurals=1; plural=0;", ["x"])
            #expect(try Self.open(["pl": polish], as: "de") == nil)
            #expect(try Self.open(["pl": polish], as: "pl") != nil)
        }
    }

    @Test func aDamagedCatalogueDoesNoHarm() async {
        await #expect(processExitsWith: .success) {
            let damaged = Data([0xDE, 0x12, 0x04, 0x95, 0, 0, 0, 0, 255, 255, 255, 255])
            let catalogue = try Self.open(["de": damaged], as: "de")
            #expect(catalogue == nil)
        }
    }

    @Test func thisProcessHasNoCatalogue() {
        #expect(translated("the text of \(1)") == "the text of 1")
        #expect(translated(1, one: "\(1) failure", other: "\(1) failures") == "1 failure")
        #expect(translated(0, one: "\(0) failure", other: "\(0) failures") == "0 failures")
        #expect(translatedOnly("the handler crashed") == nil)
        #expect(systemErrorText(ENOENT) == "No such file or directory")
    }

    // MARK: Catalogues

    /// Compiles a catalogue, and opens it.
    private static func catalogue(_ language: String, plural: String, _ forms: [String]) throws -> Catalogue? {
        try open([language: try file(language, plural: plural, forms)], as: language)
    }

    /// Sets this process's language, and opens its catalogue in a directory with these catalogues.
    ///
    /// The locale is a copy of C.UTF-8, so that the machine needs no others.
    private static func open(_ files: [String: Data], as language: String) throws -> Catalogue? {
        let directory = FileManager.default.temporaryDirectory.appending(path: "openurl-locale-\(UUID().uuidString)")
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: directory) } }
        for (language, file) in files {
            let messages = directory.appending(path: "\(language)/LC_MESSAGES")
            try FileManager.default.createDirectory(at: messages, withIntermediateDirectories: true)
            try file.write(to: messages.appending(path: "openurl.mo"))
        }
        let locale = directory.appending(path: "\(language)_XX.UTF-8")
        try FileManager.default.copyItem(at: URL(filePath: "/usr/lib/locale/C.utf8"), to: locale)
        setenv("LOCPATH", directory.path, 1)
        setenv("LC_ALL", "\(language)_XX.UTF-8", 1)
        unsetenv("LANGUAGE")
        return Catalogue(in: directory.path)
    }

    /// Compiles a catalogue.
    private static func file(_ language: String, plural: String, _ forms: [String]) throws -> Data {
        let text = """
            msgid ""
            msgstr ""
            "Content-Type: text/plain; charset=UTF-8\\n"
            "Language: \(language)\\n"
            "Plural-Forms: \(plural)\\n"

            msgid "%1$s is \\"here\\""
            msgstr "„%1$s“ ist da"

            msgid "untranslated"
            msgstr ""

            msgid "failure"
            msgid_plural "failures"
            \(forms.enumerated().map { "msgstr[\($0)] \"\($1)\"" }.joined(separator: "\n"))

            """
        let files = FileManager.default.temporaryDirectory.appending(path: "openurl-po-\(UUID().uuidString)")
        try Data(text.utf8).write(to: files.appendingPathExtension("po"))
        let process = ChildProcess()
        process.executableURL = URL(filePath: "/usr/bin/msgfmt")
        process.arguments = ["-o", "\(files.path).mo", "\(files.path).po"]
        try process.run()
        process.waitUntilExit()
        defer { for end in ["mo", "po"] { unlink("\(files.path).\(end)") } }
        return try Data(contentsOf: files.appendingPathExtension("mo"))
    }
}
