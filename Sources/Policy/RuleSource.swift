package import UserFiles

/// The files of one kind of rules, and the meaning of their contents.
package protocol RuleSource: Sendable {
    /// All rules of this kind together.
    associatedtype Rules: Sendable

    /// The files.
    var files: RuleFiles { get }

    /// Returns the rules in the files. A problem in one file or line does not affect the rules in the others.
    func rules(in texts: RuleTexts) -> (rules: Rules, diagnostics: [Diagnostic])
}
