internal import Reactor

/// The URLs from the router that have arrived and have not been answered yet, by their requests' IDs.
final class ArrivedURLs: Sendable {
    private struct State {
        /// The latest URL for each ID.
        var latest: [String: ArrivedURL] = [:]
        /// Any other URLs for an ID, because a caller may use an ID twice.
        var earlier: [String: [ArrivedURL]] = [:]
    }

    private let state = Lock(State())

    func add(_ url: ArrivedURL) {
        state.withLock { state in
            guard let earlier = state.latest.updateValue(url, forKey: url.name) else { return }
            state.earlier[url.name, default: []].append(earlier)
        }
    }

    func remove(_ url: ArrivedURL) {
        state.withLock { state in
            guard let place = state.latest.index(forKey: url.name) else { return }
            // Changing an optional value in place is slow, even if it is nil.
            guard var earlier = state.earlier[url.name] else {
                if state.latest.values[place] === url { state.latest.remove(at: place) }
                return
            }
            if state.latest.values[place] !== url {
                earlier.removeAll { $0 === url }
            } else if let other = earlier.popLast() {
                state.latest.values[place] = other
            }
            state.earlier[url.name] = earlier.isEmpty ? nil : earlier
        }
    }

    /// Cancels a request's URLs. If the request has been answered, this does nothing.
    func cancel(_ name: String) {
        let urls = state.withLock { state in
            state.latest[name].map { [$0] + (state.earlier[name] ?? []) } ?? []
        }
        for url in urls { url.cancel() }
    }
}
