internal import OpenURLBus
internal import Policy

extension PolicyCaller {
    /// Creates the caller that stands for a URL's sender in the policy. If its class belongs to a later version, it is
    /// treated as unknown.
    init(_ source: OpenContext.Source) {
        self.init(
            source.callerClass.known ?? .unknown,
            name: source.application ?? source.host,
            container: source.container
        )
    }
}

extension OpenContext.Source {
    /// Whether an answer about the caller can be remembered. If one of the user's programs passes URLs on, the caller
    /// cannot be recognised, because the next URL may come from another program, or even from a sandbox.
    var isMemorable: Bool {
        PolicyCaller(self).isMemorable && !(callerClass == .known(.user) && isIntermediary)
    }
}
