internal import OpenURLBus
internal import Policy

extension PolicyCaller {
    /// The sender of a URL as a policy sees it. A class of a later version counts as unknown.
    init(_ source: OpenContext.Source) {
        self.init(source.callerClass.known ?? .unknown, name: source.application)
    }
}

extension OpenContext.Source {
    /// Whether an answer about the caller can be remembered. A program of the user that passes URLs on is no caller to recognise: the
    /// next URL may come from another program, and from a sandbox.
    var isMemorable: Bool {
        PolicyCaller(self).isMemorable && !(callerClass == .known(.user) && isIntermediary)
    }
}
