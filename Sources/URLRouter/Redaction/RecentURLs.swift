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
    private var urls: [String: [Entry]] = [:]
    /// Names in ``urls``, with the one that has been unused the longest first.
    private var names: Deque<String> = []

    /// Limits: the number of names, the number of URLs for each name, and the bytes of these URLs without the latest
    /// one.
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
    /// Adds an entry as the latest one, and removes the first ones that exceed the limits.
    fileprivate mutating func add(_ entry: Element, count limit: Int, bytes: Int) {
        removeAll { $0.url == entry.url }
        append(entry)
        var size = reduce(0) { $0 + $1.url.utf8.count }
        while count > 1, count > limit || size > bytes { size -= removeFirst().url.utf8.count }
    }
}
