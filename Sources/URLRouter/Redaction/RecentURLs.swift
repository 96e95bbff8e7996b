internal import DequeModule
internal import OpenURLBus
internal import Reactor

/// URLs that processes received recently. Their secrets are left out of anything that the processes write.
///
/// Only a few are kept, so if a process writes about an older one, its secrets stay visible.
actor RecentURLs {
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let loop: EventLoop
    /// URLs by the names of the processes' files.
    private var urls: [String: Entries] = [:]
    /// Names in ``urls``, beginning with the one that has been unused for the longest time.
    private var names: Deque<String> = []

    /// Maximum number of names.
    private static let nameCount = 128

    fileprivate struct Entry {
        let url: String
        /// Nil until a text is searched.
        var secrets: URLSecrets?
    }

    init(on loop: EventLoop) { self.loop = loop }

    func add(_ url: String, of name: String) {
        if let place = urls.index(forKey: name) {
            urls.values[place].add(url)
        } else {
            urls[name] = Entries(url)
        }
        guard names.last != name else { return }
        names.removeAll { $0 == name }
        names.append(name)
        if names.count > Self.nameCount { urls[names.removeFirst()] = nil }
    }

    func redacting(_ text: String, of name: String) -> String {
        text.isEmpty ? text : secrets(of: name).redacting(text)
    }

    func redacting(_ text: QuotingText, of name: String) -> QuotingText { secrets(of: name).redacting(text) }

    private func secrets(of name: String) -> [URLSecrets] {
        guard let place = urls.index(forKey: name) else { return [] }
        return urls.values[place].secrets()
    }
}

/// The latest URLs for one name, the latest last.
private struct Entries {
    private var all: Deque<RecentURLs.Entry> = []
    private var size = 0

    /// Limits: the number of URLs, and their size in bytes, not counting the latest one.
    private static let count = 16
    private static let bytes = 16 << 10

    init(_ url: String) { add(url) }

    /// Adds a URL, and removes the earliest ones if the limits are exceeded.
    mutating func add(_ url: String) {
        if all.last?.url == url { return }
        all.append(RecentURLs.Entry(url: url))
        size += url.utf8.count
        while all.count > 1, all.count > Self.count || size > Self.bytes {
            size -= all.removeFirst().url.utf8.count
        }
    }

    mutating func secrets() -> [URLSecrets] {
        all.indices.map { index in
            let secrets = all[index].secrets ?? RedactedURL(all[index].url).secrets
            all[index].secrets = secrets
            return secrets
        }
    }
}
