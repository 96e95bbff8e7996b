internal import Glibc
internal import Synchronization

/// Whether a program reads this process's output.
private let isForPrograms = Atomic(false)

/// Keeps all texts of this process in English, because a program reads its output.
package func keepTextsInEnglish() {
    isForPrograms.store(true, ordering: .relaxed)
}

private var catalogue: Catalogue? {
    isForPrograms.load(ordering: .relaxed) ? nil : Catalogue.ofProcess
}

/// Returns a text for people in the user's language, or in English if there is no translation.
///
/// Call this with a literal: `.ci/translations.py` looks for the calls, and collects the texts for the translators. Text
/// that programs read is not translated.
package func translated(_ text: TranslatableText) -> String {
    catalogue?.translation(of: text.key).map(text.filling) ?? text.english
}

/// Returns a text about a number of things, in the user's language and in its form for this number.
///
/// Both texts have the same values, because the translators choose where the number appears.
package func translated(_ count: Int, one: TranslatableText, other: TranslatableText) -> String {
    catalogue?.translation(of: one.key, other.key, count.magnitude).map(other.filling)
        ?? (count == 1 ? one : other).english
}

/// Returns a text that is only shown in another language than English; nil otherwise.
///
/// It goes before a text that cannot be translated here.
package func translatedOnly(_ text: TranslatableText) -> String? {
    catalogue?.translation(of: text.key).map(text.filling)
}

/// Returns the text of an error of the system, such as `ENOENT`.
package func systemErrorText(_ code: CInt) -> String {
    catalogue?.text(ofError: code) ?? String(cString: strerror(code))
}
