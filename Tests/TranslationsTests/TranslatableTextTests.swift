import Testing

@testable import Translations

/// Texts and their keys.
@Suite struct TranslatableTextTests {
    @Test func aTextWithoutValuesIsItsOwnKey() {
        let text: TranslatableText = "write it as %25"
        #expect(text.english == "write it as %25")
        #expect(text.key == "write it as %25")
        #expect(text.filling("als %25") == "als %25")
    }

    @Test func valuesAreNumbered() {
        let text: TranslatableText = "\("a") is 50 % of \(7)"
        #expect(text.english == "a is 50 % of 7")
        #expect(text.key == "%1$s is 50 %% of %2$s")
    }

    @Test func aTranslationChoosesTheOrder() {
        let text: TranslatableText = "\("a") before \("b")"
        #expect(text.filling("%2$s nach %1$s, zu 100 %%") == "b nach a, zu 100 %")
    }

    @Test(arguments: [
        ("%", "%"), ("%1", "%1"), ("%1$d", "%1$d"), ("%0$s", "%0$s"), ("%2$s", "%2$s"), ("%s %n", "%s %n"),
        ("%99999999999999999999$s", "%99999999999999999999$s"), ("%%1$s", "%1$s"), ("%1$s%1$s", "%2$s%2$s"),
        ("%٣$s", "%٣$s"),
    ])
    func aWrongTranslationDoesNoHarm(_ translation: String, _ shown: String) {
        // A value that looks like a format stays as it is.
        let text: TranslatableText = "\("%2$s") is wrong"
        #expect(text.filling(translation) == shown)
    }

    @Test(arguments: [
        ([:], false), (["LANG": "C"], false), (["LANG": "C.UTF-8"], false), (["LANG": "POSIX"], false),
        (["LANG": "en_GB.UTF-8"], false), (["LANG": "de_DE.UTF-8"], true),
        (["LANG": "de_DE.UTF-8", "LC_MESSAGES": "en_US.UTF-8"], false),
        (["LANG": "de_DE.UTF-8", "LC_ALL": "C"], false),
        (["LANG": "de_DE.UTF-8", "LC_ALL": ""], true), (["LANG": "en_US.UTF-8", "LANGUAGE": "de:en"], true),
        (["LANG": "de_DE.UTF-8", "LANGUAGE": "en:de"], false), (["LANG": "C", "LANGUAGE": "de"], false),
    ])
    func theEnvironmentChoosesTheLanguage(_ environment: [String: String], _ isWanted: Bool) {
        #expect(Catalogue.isWanted { environment[$0] } == isWanted)
    }
}
