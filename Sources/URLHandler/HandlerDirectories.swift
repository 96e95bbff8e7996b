internal import OpenURLBus
internal import UserFiles

/// The directories of a handler: where it was installed, and where its files belong.
///
/// The router gives them to the processes that it starts. For any other process, they follow from the XDG Base Directory
/// Specification, and the bundle is unknown. A directory is nil if the environment has no home directory.
public struct HandlerDirectories: Sendable, Hashable {
    /// Path of the bundle that declares the handler; nil for a bare manifest.
    public var bundle: String?
    /// Directory for the handler's data: `$XDG_DATA_HOME/ID`. The handler creates it.
    public var data: String?
    /// Directory for files that the handler can make again: `$XDG_CACHE_HOME/ID`. The handler creates it.
    public var cache: String?
    /// Directory to which the router copies the files that programs send to the handler. The handler owns the copies,
    /// and deletes them. The directory exists once there has been a file.
    public var inbox: String?

    /// Creates directories that are all unknown.
    public init() {}

    /// Takes the directories from an environment.
    package init(of identifier: String, environment: [String: String]) {
        let base = BaseDirectories(environment: environment)
        let data = base.dataHome.map { "\($0)/\(identifier)" }
        bundle = environment[HandlerInterface.bundleVariable]
        self.data = environment[HandlerInterface.dataVariable] ?? data
        cache = environment[HandlerInterface.cacheVariable] ?? base.cacheHome.map { "\($0)/\(identifier)" }
        inbox = environment[HandlerInterface.inboxVariable] ?? data.map { "\($0)/Inbox" }
    }
}
