/// Limits of one handler's inbox.
struct InboxLimits: Sendable, Hashable {
    /// Number of files in the inbox.
    var files = 10_000
    /// Size of all files in the inbox, in bytes.
    var bytes = 1 << 30
    /// Free space that a copy leaves on the file system, in bytes.
    var spare = 64 << 20
}
