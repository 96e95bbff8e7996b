internal import DequeModule

/// The order in which requests arrived, for requests that wait for different things before they continue.
///
/// It belongs to the router's actor.
final class ArrivalOrder {
    /// One request's place in the order.
    final class Place {
        fileprivate var continuation: CheckedContinuation<Void, Never>?
    }

    private var places: Deque<Place> = []

    /// Takes the last place.
    func enter() -> Place {
        let place = Place()
        places.append(place)
        return place
    }

    /// Returns when every earlier request has left.
    func turn(of place: Place) async {
        guard places.first !== place else { return }
        await withCheckedContinuation { continuation in
            // Other jobs of the loop may run before this closure, so the turn may already have come.
            if places.first === place { return continuation.resume() }
            place.continuation = continuation
        }
    }

    /// Gives up a place. After this, the next request can continue, but not until the calling task suspends.
    func leave(_ place: Place) {
        if places.first === place { places.removeFirst() } else { places.removeAll { $0 === place } }
        places.first?.continuation?.resume()
        places.first?.continuation = nil
    }
}
