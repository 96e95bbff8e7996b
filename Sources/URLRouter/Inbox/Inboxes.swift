internal import CLinux
internal import DBus
internal import Glibc
internal import OpenURLBus
internal import RFC1808
internal import Reactor
internal import SystemPackage
internal import UserFiles

/// Copies files into inboxes.
///
/// Copying may block forever if a file system is not responding, so each copy has its own thread and a time limit. This
/// belongs to the router's actor.
final class Inboxes {
    /// The inboxes; nil if there is no directory for them.
    private let files: InboxFiles?
    private let loop: EventLoop
    private let limits: RouterLimits
    /// Threads that are copying, by the callers' applications.
    private(set) var copies: Shares<String>

    init(dataHome: String?, _ limits: RouterLimits, on loop: EventLoop) {
        files = dataHome.map { InboxFiles(dataHome: $0) }
        self.loop = loop
        self.limits = limits
        copies = Shares(limit: limits.inboxCopies)
    }

    /// Returns the path that a file gets in a handler's inbox if its name is free there; nil if there is no directory.
    func path(of name: InboxName, for id: String) -> String? { files.map { "\($0.path(of: id))/\(name)" } }

    /// Returns whether a URL refers to a file in a handler's inbox. The queue opens such a URL only if it was accepted
    /// as the URL of a copy.
    func holds(_ url: GenericURL, of id: String?) -> Bool {
        guard let files, let id, let path = url.localFilePath else { return false }
        return files.holds(path, of: id)
    }

    /// Copies a file.
    ///
    /// - Returns: The path of the copy.
    /// - Throws: `declined` with the reason why there is no copy, `limitsExceeded`, `timedOut`, and `launchFailed` if
    ///   there is no directory.
    func receive(
        _ name: InboxName,
        _ source: UnixFD,
        for id: String,
        _ account: String
    ) async throws(OpenURLError) -> String {
        guard let files else {
            throw OpenURLError(.launchFailed, "there is no directory for inboxes; set HOME or XDG_DATA_HOME")
        }
        guard copies.refusal(of: account, 1) == nil else {
            throw OpenURLError(.limitsExceeded, "\(copies[account]) copies are already being made for \(account)")
        }
        // This thread owns the descriptor, because the caller may leave the bus in the meantime.
        guard let descriptor = source.take() else {
            throw OpenURLError(.declined, "'\(printable(name.description))' no longer has an open file")
        }
        copies.add(1, to: account)
        let result: Result<String, InboxError>?
        do throws(Errno) {
            result = try await HelperThread.run(for: limits.inboxTime, on: loop) {
                defer { close(descriptor) }
                return Result { () throws(InboxError) in try files.receive(descriptor, named: name, for: id) }
            } late: { [self] result in
                copies.remove(1, from: account)
                // Because the caller already has its answer, this copy will never be opened.
                if case .success(let path) = result { startThread(removing: path, in: files) }
            }
        } catch {
            close(descriptor)
            copies.remove(1, from: account)
            throw OpenURLError(.limitsExceeded, "cannot start a thread to copy the file: \(error)")
        }
        // The copy is overdue, but it counts until its thread ends.
        guard let result else { throw OpenURLError(.timedOut, "the file was not copied in time") }
        copies.remove(1, from: account)
        do throws(InboxError) {
            return try result.get()
        } catch {
            let reason = "'\(printable(name.description))' \(error.reason)"
            throw OpenURLError(error.isFull ? .limitsExceeded : .declined, reason)
        }
    }

    /// Removes a copy that no handler has been told about. If the file system is slow, the removal may finish after
    /// this method returns.
    func remove(_ path: String) async {
        guard let files else { return }
        do throws(Errno) {
            _ = try await HelperThread.run(for: limits.fileTime, on: loop, { files.remove(path) }, late: { _ in })
        } catch {
            // If no thread can be started, the copy stays, and its handler finds it in the inbox.
            return
        }
    }

    /// Removes a copy without blocking the loop. If this fails, the copy stays, and its handler finds it in the inbox.
    private func startThread(removing path: String, in files: InboxFiles) {
        _ = Reactor.startThread("inbox") { files.remove(path) }
    }
}
