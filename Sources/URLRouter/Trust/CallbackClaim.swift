internal import DBus
internal import OpenURLBus

/// A program's claim on the URLs that match a pattern.
struct CallbackClaim: Sendable, Hashable {
    /// The claim's handle.
    let path: ObjectPath
    /// The connection that gets the callback.
    let owner: BusName
    /// The program to which the connection belongs.
    let receiver: OpenContext.Source
    let pattern: CallbackPattern
    /// The value that the callback must have as `state`; nil for any value.
    let state: String?
    /// The programs that may send the callback; if empty, any program may.
    let sources: [String]

    /// The application that is charged for the claim.
    var account: String { receiver.account }

    /// Returns whether a program may send the callback.
    ///
    /// If a program passes URLs on for an unknown program, its path does not identify it. A class's name never stands
    /// for an application, because a snap may be called `user`.
    func accepts(_ source: OpenContext.Source) -> Bool {
        sources.isEmpty
            || sources.contains { name in
                if CallerClass(rawValue: name) != nil { return name == source.callerClass.rawValue }
                return name == source.application
                    || name.hasPrefix("/") && name == source.program && !source.isIntermediary
            }
    }
}
