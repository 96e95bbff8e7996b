/// The kind of program that calls the router. It decides what the program may do (`Documentation/Rights.md`).
///
/// The router finds it out by itself, from the bus and the kernel, and never takes the program's word for it.
public enum CallerClass: String, Sendable, Hashable, CaseIterable {
    /// A process that a router started for a registered handler.
    case handler
    /// A program of the same user that is not confined.
    case user
    /// A program in a sandbox or a container, or one whose confinement cannot be ruled out.
    case sandboxed
    /// A program on another machine or in a container, whose requests arrive through `openurl ssh` or `openurl share`.
    case remote
    /// A program that exited before the router could look at it.
    case unknown
}

extension CallerClass: Word {
    package static func problem(with word: String) -> String {
        "'\(word)' is not a class; the classes are \(allCases.map(\.rawValue).joined(separator: ", "))"
    }
}
