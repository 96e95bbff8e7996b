internal import DBus
internal import OpenURLBus

/// The claim of a program on the URLs of a pattern.
struct CallbackClaim: Sendable, Hashable {
    /// The handle.
    let path: ObjectPath
    /// The connection that gets the callback.
    let owner: BusName
    /// The program that the connection belongs to.
    let receiver: OpenContext.Source
    let pattern: CallbackPattern
    /// The value that the callback has to bring as `state`; nil for every value.
    let state: String?
    /// The programs that may bring the callback; empty for every program.
    let sources: [String]

    /// The application that the claim is counted to.
    var account: String { receiver.account }

    /// Returns whether a program may bring the callback.
    ///
    /// A program that passes URLs on for an unknown program is not named by its path. The name of a class is never an
    /// application's: a snap may be called `user`.
    func accepts(_ source: OpenContext.Source) -> Bool {
        sources.isEmpty
            || sources.contains { name in
                if CallerClass(rawValue: name) != nil { return name == source.callerClass.rawValue }
                return name == source.application
                    || name.hasPrefix("/") && name == source.executable && !source.isIntermediary
            }
    }
}
