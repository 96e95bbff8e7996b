internal import DBus
internal import Desktop
internal import OpenURLBus
internal import RFC1808
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage
internal import UserFiles

/// Determines the kinds of the files that callers open.
///
/// Examining a file may block forever if its file system is not responding, so each examination has its own thread and
/// a time limit. This belongs to the router's actor.
final class FileKinds {
    private var types: LocalFileTypes
    private let loop: EventLoop
    private let limits: RouterLimits
    /// Threads that are examining files, by the callers' applications.
    private(set) var looks: Shares<String>

    init(_ directories: DesktopDirectories, _ limits: RouterLimits, on loop: EventLoop) {
        types = LocalFileTypes(directories)
        self.loop = loop
        self.limits = limits
        looks = Shares(limit: limits.fileLooks)
    }

    /// Returns the kind of the file that a URL refers to; nil if it refers to no file on this machine.
    ///
    /// The router has the user's rights, so it examines a file only for a caller that has these rights too. For any
    /// other caller, or if the file is not there, only the name counts, because a handler may replace a copy in its
    /// inbox with a link.
    ///
    /// - Throws: `timedOut`, and `limitsExceeded` if too many files are being examined for one application.
    func kind(
        of url: GenericURL,
        _ options: OpenOptions,
        for account: String,
        _ callerClass: CallerClass
    ) async throws(OpenURLError) -> FileKind? {
        guard let path = url.localFilePath else { return nil }
        let known: MimeType?
        if let type = options.contentType {
            guard let type = MimeType(type) else { throw OpenURLError(.noHandler, "\(type) is not a file type") }
            known = type
        } else {
            known = nil
        }
        let mayLook = !callerClass.isConfined && callerClass != .unknown
        let guess = try await look(account, url) { types in
            if let known { return types.database.guess(known, isByName: true) }
            guard mayLook else { return types.type(ofName: path) }
            do throws(FileError) {
                return try types.type(ofFile: path)
            } catch {
                return types.type(ofName: path)
            }
        }
        let name = path.split(separator: UInt8(ascii: "/")).last ?? []
        return FileKind(guess, name: String(decoding: name, as: UTF8.self))
    }

    /// Runs an examination in a separate thread, with the current database.
    private func look(
        _ account: String,
        _ url: GenericURL,
        _ body: @escaping @Sendable (LocalFileTypes) -> FileTypeGuess
    ) async throws(OpenURLError) -> FileTypeGuess {
        guard looks.refusal(of: account, 1) == nil else {
            throw OpenURLError(.limitsExceeded, "\(looks[account]) files of \(account) are already being examined")
        }
        looks.add(1, to: account)
        let types = types
        let result: (LocalFileTypes, FileTypeGuess)?
        do throws(Errno) {
            result = try await HelperThread.run(for: limits.fileTime, on: loop) {
                var types = types
                types.update()
                return (types, body(types))
            } late: { [self] _ in
                looks.remove(1, from: account)
            }
        } catch {
            looks.remove(1, from: account)
            throw OpenURLError(.limitsExceeded, "cannot start a thread to examine \(url): \(error)")
        }
        // The examination is overdue, but it counts until its thread ends.
        guard let (types, guess) = result else {
            throw OpenURLError(.timedOut, "the file system of \(url) did not report the file's type in time")
        }
        looks.remove(1, from: account)
        self.types = types
        return guess
    }
}

extension GenericURL {
    /// The path if the URL refers to a file on this machine; nil for any other URL. A fragment refers to a position
    /// within the file.
    var localFilePath: [UInt8]? { Desktop.localFilePath(ofURL: String(description.prefix { $0 != "#" })) }
}
