internal import Synchronization

/// The URLs of the router that have arrived and have no answer yet, by the names of their requests.
final class ArrivedURLs: Sendable {
    // A caller may have given a name twice, so a name can stand for several URLs.
    private let urls = Mutex<[String: [ArrivedURL]]>([:])

    func add(_ url: ArrivedURL) {
        urls.withLock { $0[url.name, default: []].append(url) }
    }

    func remove(_ url: ArrivedURL) {
        urls.withLock { urls in
            urls[url.name]?.removeAll { $0 === url }
            if urls[url.name]?.isEmpty == true { urls[url.name] = nil }
        }
    }

    /// Cancels the URLs of a request. Does nothing for a request that has its answer.
    func cancel(_ name: String) {
        for url in urls.withLock({ $0[name] }) ?? [] { url.cancel() }
    }
}
