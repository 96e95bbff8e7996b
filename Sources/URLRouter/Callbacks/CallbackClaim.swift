internal import DBus
internal import OpenURLBus
internal import RFC1808

/// The claim of a program on the URLs of a pattern.
struct CallbackClaim: Sendable, Hashable {
    /// The handle.
    let path: ObjectPath
    /// The connection that gets the callback.
    let owner: BusName
    /// The application that the claim is counted to.
    let account: String
    let pattern: CallbackPattern
    /// The value that the callback has to bring as `state`; nil for every value.
    let state: String?
    /// The programs that may bring the callback; empty for every program.
    let sources: [String]

    /// Returns whether the URL brings the state that the claim wants.
    func hasState(of url: GenericURL) -> Bool {
        state == nil || FormParameters(url)["state"] == state
    }

    /// Returns whether a program may bring the callback.
    ///
    /// A program that passes URLs on for an unknown program is not named by its path.
    func accepts(_ source: OpenContext.Source) -> Bool {
        sources.isEmpty
            || sources.contains { name in
                name == source.application || name == source.callerClass.rawValue
                    || name.hasPrefix("/") && name == source.executable && !source.isIntermediary
            }
    }
}
