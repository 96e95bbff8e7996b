internal import OpenURLBus

/// The reminders that are on the screen, or about to be shown.
///
/// It belongs to the router's actor.
final class ShownReminders {
    private let desktop: any ReminderShowing
    /// The latest reminder of each delivery, by the deliveries' numbers.
    private var places: [Int64: Place] = [:]

    /// One reminder, from the moment when it is to be shown.
    final class Place {
        fileprivate let id: Int64
        fileprivate let delivery: Delivery
        fileprivate(set) var isWithdrawn = false
        /// Takes it off the screen; nil before it is there.
        fileprivate var close: (() -> Void)?

        fileprivate init(_ id: Int64, _ delivery: Delivery) {
            self.id = id
            self.delivery = delivery
        }

        fileprivate func withdraw() {
            isWithdrawn = true
            close?()
        }
    }

    init(_ desktop: any ReminderShowing) {
        self.desktop = desktop
    }

    /// Begins to show a delivery's reminder. From now on, it can be withdrawn. An earlier one of a delivery that is repeated
    /// leaves the screen, so that its removal leaves none behind.
    ///
    /// - Parameter id: the delivery's number in the queue.
    func enter(_ delivery: Delivery, _ id: Int64) -> Place {
        let place = Place(id, delivery)
        places.updateValue(place, forKey: id)?.withdraw()
        return place
    }

    /// Forgets a reminder that is not on the screen.
    func leave(_ place: Place) {
        if places[place.id] === place { places[place.id] = nil }
    }

    /// Shows a reminder, and returns when the desktop has it.
    ///
    /// - Parameters:
    ///   - name: the handler's name; nil if the handler is unknown by now.
    ///   - onClick: called when the user clicks on it, with the token that lets the handler take the focus, if there is one.
    /// - Throws: why the desktop cannot show it now, or that it has been withdrawn.
    func show(
        _ place: Place,
        handler name: String?,
        onClick: @escaping (_ token: String?) -> Void
    ) async throws(OpenURLError) {
        guard !place.isWithdrawn else { throw .withdrawn }
        let close = try await desktop.show(Reminder(place.delivery, handler: name)) { [weak self] end in
            self?.leave(place)
            if case .clicked(let token) = end, !place.isWithdrawn { onClick(token) }
        }
        place.close = close
        // It may have been withdrawn in the meantime.
        if place.isWithdrawn { close() }
    }

    /// Takes reminders off the screen.
    func withdraw(where isMeant: (_ id: Int64, Delivery) -> Bool) {
        for place in places.values where isMeant(place.id, place.delivery) {
            leave(place)
            place.withdraw()
        }
    }

    /// Takes the reminder of a delivery off the screen.
    func withdraw(_ id: Int64) {
        places.removeValue(forKey: id)?.withdraw()
    }
}
