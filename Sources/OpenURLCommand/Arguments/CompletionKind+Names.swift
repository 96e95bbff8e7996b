internal import ArgumentParser
internal import DBus
internal import Glibc
internal import OpenURLBus
internal import URLOpener

/// The completions that a shell asks this command for. A list that cannot be read in two seconds is empty.
extension CompletionKind {
    /// The identifiers of the handlers.
    static let handlers = custom { _, _, prefix in
        matching(prefix) { router throws(CommandFailure) in try router.handlers().map(\.id) }
    }

    /// The schemes that have a handler.
    static let schemes = custom { _, _, prefix in
        matching(prefix) { router throws(CommandFailure) in try router.schemes() }
    }

    /// The schemes with a colon, and files.
    static let urls = custom { _, _, prefix in
        let schemes = matching(prefix) { router throws(CommandFailure) in try router.schemes().map { "\($0):" } }
        return schemes + files(beginningWith: prefix)
    }

    /// Manifests, bundles, and the identifiers of the handlers.
    static let manifests = custom { _, _, prefix in
        let ids = matching(prefix) { router throws(CommandFailure) in try router.handlers().map(\.id) }
        return ids + files(beginningWith: prefix).filter { $0.hasSuffix("/") || $0.hasSuffix(".plist") }
    }

    /// The numbers of the URLs in the queue.
    static let queuedURLs = custom { _, _, prefix in
        matching(prefix) { router throws(CommandFailure) in
            try router.call(QueueInterface.list, "", timeout: .seconds(2)).map(\.id)
        }
    }
}

extension RouterClient {
    fileprivate func handlers() throws(CommandFailure) -> [HandlerEntry] {
        try call(RegistryInterface.listHandlers, Empty(), timeout: .seconds(2))
    }

    fileprivate func schemes() throws(CommandFailure) -> [String] {
        try call(RegistryInterface.listSchemes, Empty(), timeout: .seconds(2)).keys.sorted()
    }
}

private func matching(_ prefix: String, _ list: (RouterClient) throws(CommandFailure) -> [String]) -> [String] {
    do throws(CommandFailure) {
        return try list(RouterClient(on: .ofProcess)).filter { $0.hasPrefix(prefix) && $0.printable == $0 }
    } catch {
        // A shell shows nothing then.
        return []
    }
}

/// The files whose paths begin with a text; directories end with a slash.
private func files(beginningWith prefix: String) -> [String] {
    let end = prefix.utf8.lastIndex(of: UInt8(ascii: "/")).map { prefix.utf8.index(after: $0) } ?? prefix.startIndex
    let (directory, start) = (String(prefix[..<end]), prefix[end...])
    guard let stream = opendir(directory.isEmpty ? "." : directory) else { return [] }
    defer { closedir(stream) }
    var files: [String] = []
    while let entry = readdir(stream), files.count < 1000 {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        guard name.hasPrefix(start), name != ".", name != "..", !name.hasPrefix(".") || start.hasPrefix("."),
            name.printable == name
        else { continue }
        var status = stat()
        let isDirectory = stat(directory + name, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        files.append(directory + name + (isDirectory ? "/" : ""))
    }
    return files.sorted()
}
