internal import DBus
internal import Glibc
internal import OpenURLBus
internal import RFC1808
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage
internal import UserFiles

/// The copies of files into inboxes.
///
/// A copy may wait for a file system without end, so the copies of each call have a thread of their own and a time limit. The
/// object belongs to the router's actor.
final class Inboxes {
    /// The inboxes; nil without a directory for them.
    private let files: InboxFiles?
    private let loop: EventLoop
    private let limits: RouterLimits
    /// The threads that copy, by the applications of the callers.
    private(set) var copies: Shares<String>
    /// The paths of the copies that are being opened. Each belongs to an unanswered call.
    private var copiesToOpen: Set<[UInt8]> = []

    init(dataHome: String?, _ limits: RouterLimits, on loop: EventLoop) {
        files = dataHome.map { InboxFiles(dataHome: $0) }
        self.loop = loop
        self.limits = limits
        copies = Shares(limit: limits.inboxCopies)
    }

    /// Returns whether a URL names a file in the inbox of a handler. The queue opens such a URL only if it was accepted as a copy.
    func holds(_ url: GenericURL, of id: String?) -> Bool {
        guard let files, let id, let path = url.localFilePath else { return false }
        return files.holds(path, of: id)
    }

    /// Returns whether a URL names a copy that `opening` opens.
    func isOpening(_ url: GenericURL) -> Bool { url.localFilePath.map(copiesToOpen.contains) ?? false }

    /// Opens a copy. Only meanwhile its URL has the rights of a copy: any program may name a file in an inbox.
    func opening<Result>(
        _ path: String,
        _ body: () async throws(OpenURLError) -> Result
    ) async throws(OpenURLError) -> Result {
        copiesToOpen.insert(Array(path.utf8))
        defer { copiesToOpen.remove(Array(path.utf8)) }
        return try await body()
    }

    /// Copies files, in order. A failure does not stop the files that follow.
    ///
    /// - Returns: the path of each copy, or the reason why there is none.
    /// - Throws: `limitsExceeded`, `timedOut`, and `notQueued` without a directory.
    func receive(
        _ sent: [SentFile],
        for id: BundleIdentifier,
        _ account: String
    ) async throws(OpenURLError) -> [Result<String, OpenURLError>] {
        guard let files else {
            throw OpenURLError(.launchFailed, "there is no directory for inboxes; set HOME or XDG_DATA_HOME")
        }
        guard copies.refusal(of: account, 1) == nil else {
            throw OpenURLError(.limitsExceeded, "\(copies[account]) copies for \(account) are being made already")
        }
        // The thread owns the descriptors: the caller may leave the bus meanwhile.
        let taken = sent.map { ($0.name, $0.descriptor.take()) }
        copies.add(1, to: account)
        let results: [Result<String, OpenURLError>]?
        do throws(Errno) {
            results = try await HelperThread.run(for: limits.inboxTime, on: loop) {
                taken.map { name, descriptor in
                    defer { if let descriptor { close(descriptor) } }
                    return Result { () throws(OpenURLError) in
                        try Self.receive(name, descriptor, for: id.rawValue, in: files)
                    }
                }
            } late: { [self] results in
                copies.remove(1, from: account)
                // The caller has got its answer, so nobody will open these copies.
                let paths = results.compactMap { (result) -> String? in
                    if case .success(let path) = result { path } else { nil }
                }
                startThread(removing: paths, in: files)
            }
        } catch {
            for (_, descriptor) in taken { if let descriptor { close(descriptor) } }
            copies.remove(1, from: account)
            throw OpenURLError(.limitsExceeded, "there is no thread to copy files: \(error)")
        }
        // A copy that is late stays counted until its thread ends.
        guard let results else { throw OpenURLError(.timedOut, "the files were not copied in time") }
        copies.remove(1, from: account)
        return results
    }

    private static func receive(
        _ name: String,
        _ descriptor: CInt?,
        for id: String,
        in files: InboxFiles
    ) throws(OpenURLError) -> String {
        let shown = printable(name)
        guard let descriptor else { throw OpenURLError(.declined, "'\(shown)' has no open file any more") }
        let checked: InboxName
        do throws(InboxName.ParseError) {
            checked = try InboxName(name)
        } catch {
            throw OpenURLError(.declined, "'\(shown)' \(error)")
        }
        do throws(InboxError) {
            return try files.receive(descriptor, named: checked, for: id)
        } catch {
            throw OpenURLError(error.isFull ? .limitsExceeded : .declined, "'\(shown)' \(error.reason)")
        }
    }

    /// Removes a copy that no handler has learnt of. If the file system is slow, the removal ends after this method.
    func remove(_ path: String) async {
        guard let files else { return }
        do throws(Errno) {
            _ = try await HelperThread.run(for: limits.fileTime, on: loop, { files.remove(path) }, late: { _ in })
        } catch {
            // Without a thread the copy stays, and its handler finds it in the inbox.
            return
        }
    }

    /// Removes copies without keeping the loop. A copy that cannot be removed stays, and its handler finds it in the inbox.
    private func startThread(removing paths: [String], in files: InboxFiles) {
        guard !paths.isEmpty else { return }
        _ = Reactor.startThread("inbox") { for path in paths { files.remove(path) } }
    }
}
