internal import DBus
internal import OpenURLBus
internal import SQLite

/// The deliveries that are local notifications, until they are shown.
extension DeliveryStore {
    /// The beginning of a local notification's URL in the queue. The notification's identifier follows.
    static let notificationScheme = "local-notification:"

    /// Whether a delivery is a local notification that is still to be shown, in SQL.
    private static let isNotification = "notify != '' AND url GLOB '\(notificationScheme)*'"

    /// Finds the notifications that make way for a new one: the handler's with the same identifier, and the latest ones, so
    /// that at most `limit` stay.
    ///
    /// - Parameter due: when the new one is due.
    /// - Returns: nil if the new one would be the latest.
    static func makingWay(
        for delivery: Delivery,
        due: Int64,
        limit: Int,
        in database: Database
    ) throws(SQLiteError) -> [Int64]? {
        let rows = try database.prepare(
            """
            SELECT id, url = ?2, due FROM deliveries
                WHERE handler = ?1 AND \(isNotification) AND (due IS NOT NULL OR url = ?2) ORDER BY due DESC, id DESC
            """
        )
        try rows.bind(1, delivery.handler)
        try rows.bind(2, delivery.url)
        var same: [Int64] = []
        var others: [(id: Int64, due: Int64)] = []
        while try rows.step() {
            if rows.integer(1) != 0 {
                same.append(rows.integer(0))
            } else {
                others.append((rows.integer(0), rows.time(2)))
            }
        }
        let latest = others.prefix(max(0, others.count - limit + 1))
        guard latest.allSatisfy({ due < $0.due }) else { return nil }
        return same + latest.map(\.id)
    }

    /// Returns the local notifications that are still to come, the soonest first.
    ///
    /// - Parameters:
    ///   - handler: the only handler whose notifications count; nil for all.
    func notifications(of handler: String?, limit: Int) throws(DeliveryStoreError) -> [LocalNotification] {
        let found: [(handler: String, request: [UInt8], due: Int64)] = try reading([]) { database throws(SQLiteError) in
            let rows = try database.prepare(
                """
                SELECT handler, request, due FROM deliveries
                    WHERE due IS NOT NULL AND \(Self.isNotification) AND (handler = ?1 OR \(handler == nil))
                    ORDER BY due, id LIMIT ?2
                """
            )
            try rows.bind(1, handler ?? "")
            try rows.bind(2, Int64(limit))
            var found: [(String, [UInt8], Int64)] = []
            while try rows.step() { found.append((rows.text(0), rows.withBytes(1) { Array($0) }, rows.time(2))) }
            return found
        }
        return found.compactMap { entry in
            do throws(MessageDecodingError) {
                let request: Arguments<OpenOptions, OpenContext> = try MessageArchive.body(from: entry.request)
                let next = UInt64((entry.due + 999) / 1000)
                return request.values.1.localNotification?.listed(of: entry.handler, next: next)
            } catch {
                // Its attempt makes it a dead letter, which says why.
                return nil
            }
        }
    }

    /// Returns the numbers of a handler's local notifications that have not been shown.
    ///
    /// - Parameter url: the only URL that counts; nil for all.
    func numbers(ofNotificationsOf handler: String, _ url: String?) throws(DeliveryStoreError) -> [Int64] {
        try reading([]) { database throws(SQLiteError) in
            let rows = try database.prepare(
                "SELECT id FROM deliveries WHERE handler = ?1 AND \(Self.isNotification) AND (url = ?2 OR \(url == nil))"
            )
            try rows.bind(1, handler)
            try rows.bind(2, url ?? "")
            var numbers: [Int64] = []
            while try rows.step() { numbers.append(rows.integer(0)) }
            return numbers
        }
    }
}
