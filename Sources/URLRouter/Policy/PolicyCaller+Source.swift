internal import OpenURLBus
internal import Policy

extension PolicyCaller {
    /// The sender of a URL as a policy sees it. A class of a later version counts as unknown.
    init(_ source: OpenContext.Source) {
        self.init(source.callerClass.known ?? .unknown, name: source.application)
    }
}
