internal import DBus
internal import OpenURLBus

/// A program's claim on the URLs of a pattern.
struct CallbackClaim: Sendable, Hashable {
    /// The claim's handle.
    let path: ObjectPath
    /// The connection that gets the callback.
    let owner: BusName
    /// The program that the connection belongs to.
    let receiver: OpenContext.Source
    let pattern: CallbackPattern
    /// Value that the callback has to bring as `state`; nil for any value.
    let state: String?
    /// Programs that may bring the callback; empty for any program.
    let sources: [String]

    /// The application that is charged for the claim.
    var account: String { receiver.account }

    /// Returns whether a program may bring the callback.
    ///
    /// If a program passes URLs on for an unknown program, its path does not identify it. The name of a class never
    /// stands for an application, because a snap may be called `user`.
    func accepts(_ source: OpenContext.Source) -> Bool {
        sources.isEmpty
            || sources.contains { name in
                if CallerClass(rawValue: name) != nil { return name == source.callerClass.rawValue }
                return name == source.application
                    || name.hasPrefix("/") && name == source.executable && !source.isIntermediary
            }
    }
}
