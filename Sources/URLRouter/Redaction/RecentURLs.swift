internal import DequeModule
internal import OpenURLBus
internal import Reactor

/// The URLs that processes got lately. Their secrets are left out of what the processes write.
///
/// The object keeps few URLs: a process that writes about an older one reveals it.
actor RecentURLs {
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let loop: EventLoop
    /// The URLs by the names of the processes' files.
    private var urls: [String: [Entry]] = [:]
    /// The names in ``urls``, the longest unused one first.
    private var names: Deque<String> = []

    /// The number of names, of URLs for each name, and of bytes of the URLs for each name except the latest one.
    private static let nameCount = 128
    private static let count = 16
    private static let bytes = 16 << 10

    fileprivate struct Entry {
        let url: String
        /// Nil until a text is searched.
        var secrets: URLSecrets?
    }

    init(on loop: EventLoop) { self.loop = loop }

    func add(_ url: String, of name: String) {
        urls[name, default: []].add(Entry(url: url), count: Self.count, bytes: Self.bytes)
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
        guard var entries = urls[name] else { return [] }
        if entries.contains(where: { $0.secrets == nil }) {
            for index in entries.indices {
                entries[index].secrets = entries[index].secrets ?? RedactedURL(entries[index].url).secrets
            }
            urls[name] = entries
        }
        return entries.compactMap(\.secrets)
    }
}

extension [RecentURLs.Entry] {
    /// Adds an entry as the latest one, and removes the first ones above the limits.
    fileprivate mutating func add(_ entry: Element, count limit: Int, bytes: Int) {
        removeAll { $0.url == entry.url }
        append(entry)
        var size = reduce(0) { $0 + $1.url.utf8.count }
        while count > 1, count > limit || size > bytes { size -= removeFirst().url.utf8.count }
    }
}
