internal import DBus
internal import OpenURLBus
internal import SQLite

/// The deliveries with a time.
extension DeliveryStore {
    /// Whether a delivery waits for the time that its sender has set, in SQL.
    static let isTimed = "at != '' AND attempts = 0"

    /// Looks up when the deliveries with a time are due, and stores the times that have changed.
    func reviewSchedules(at now: Int64) throws(DeliveryStoreError) {
        let zone = zone()
        let changes: [(id: Int64, turn: Int64, due: Int64)] = try reading([]) { database throws(SQLiteError) in
            let rows = try database.prepare(
                "SELECT id, at, every, turn, due, accepted FROM deliveries WHERE \(Self.isTimed) AND due IS NOT NULL"
            )
            var changes: [(Int64, Int64, Int64)] = []
            while try rows.step() {
                guard var schedule = rows.schedule(1, 2, 3),
                    let due = schedule.review(at: now, since: rows.time(5), in: zone),
                    due != rows.integer(4) || schedule.turn != rows.integer(3)
                else { continue }
                changes.append((rows.integer(0), schedule.turn, due))
            }
            return changes
        }
        if changes.isEmpty { return }
        try writing { database throws(SQLiteError) in
            // The lifetime begins when the delivery is due.
            let update = try database.prepare(
                "UPDATE deliveries SET turn = ?1, expires = expires + ?2 - due, due = ?2 WHERE id = ?3"
            )
            for change in changes {
                try update.bind(1, change.turn)
                try update.bind(2, change.due)
                try update.bind(3, change.id)
                _ = try update.step()
            }
        }
    }

    /// Makes a delivery that is repeated wait for its next time.
    ///
    /// - Parameter error: Why the last delivery failed; nil if it did not.
    /// - Returns: The time; nil if the delivery is not repeated, or no longer exists.
    func planRepeat(of id: Int64, at now: Int64, after error: OpenURLError?) throws(DeliveryStoreError) -> Int64? {
        let found: DeliverySchedule? = try reading(nil) { database throws(SQLiteError) in
            let rows = try database.prepare("SELECT at, every, turn FROM deliveries WHERE id = ? AND every != ''")
            try rows.bind(1, id)
            return try rows.step() ? rows.schedule(0, 1, 2) : nil
        }
        guard var schedule = found, let due = schedule.advance(past: now, in: zone()) else { return nil }
        try writing { database throws(SQLiteError) in
            let update = try database.prepare(
                "UPDATE deliveries SET turn = ?, due = ?, attempts = 0, error = ?, message = ? WHERE id = ?"
            )
            try update.bind(1, schedule.turn)
            try update.bind(2, due)
            if let error {
                try update.bind(3, error.code.errorName.rawValue)
                try update.bind(4, limits.message(of: error))
            }
            try update.bind(5, id)
            _ = try update.step()
        }
        return due
    }
}

extension Statement {
    /// Returns the schedule in three columns; nil if there is none. The file may contain anything.
    fileprivate func schedule(_ time: Int, _ every: Int, _ turn: Int) -> DeliverySchedule? {
        DeliveryTime(rawValue: text(time)).map {
            DeliverySchedule($0, every: RepeatInterval(rawValue: text(every)), turn: integer(turn))
        }
    }
}
