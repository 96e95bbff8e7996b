/// The kind of program that calls the router. The class decides what the program may do (`Documentation/Rights.md`).
///
/// The router finds the class out by itself, from the bus and the kernel, and never takes the word of the program.
public enum CallerClass: String, Sendable, Hashable, CaseIterable {
    /// The process of a registered handler that a router has started.
    case handler
    /// A program of the same user that is not confined.
    case user
    /// A program in a sandbox or a container, or a program whose confinement cannot be ruled out.
    case sandboxed
    /// A program on another host. No caller has this class yet: it is kept for routers that pass URLs on between machines.
    case remote
    /// A program that had gone before it could be asked.
    case unknown
}
