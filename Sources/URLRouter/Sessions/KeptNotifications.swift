internal import DBus
internal import OpenURLBus

/// Notifications that are waiting for a stopped handler: the latest value of each kind.
struct KeptNotifications {
    private var values: [String: Value] = [:]
    /// Sizes of the values in bytes, by their kinds.
    private var sizes: [String: Int] = [:]

    var isEmpty: Bool { values.isEmpty }

    /// Returns the size of a notification.
    ///
    /// - Throws: `limitsExceeded` if the kind or the value is too large, or if the value cannot be kept.
    static func bytes(_ kind: String, _ value: Value, _ limits: RouterLimits) throws(OpenURLError) -> Int {
        guard kind.utf8.count <= limits.kindBytes else {
            throw OpenURLError(
                .limitsExceeded,
                "the kind of a notification has more than \(limits.kindBytes) bytes"
            )
        }
        do throws(MessageEncodingError) {
            return try kind.utf8.count + MessageArchive.bytes(of: value, limit: limits.notificationBytes).count
        } catch {
            throw OpenURLError(.limitsExceeded, "the value of a notification cannot be kept: \(error)")
        }
    }

    /// Keeps a notification until the handler continues, in place of an earlier one of its kind.
    ///
    /// - Throws: `limitsExceeded` if the notifications for the handler `id` are too many or too large.
    mutating func keep(
        _ kind: String,
        _ value: Value,
        bytes: Int,
        for id: BusName,
        _ limits: RouterLimits
    ) throws(OpenURLError) {
        guard values[kind] != nil || values.count < limits.notificationKinds else {
            throw OpenURLError(.limitsExceeded, "\(values.count) kinds of notifications already wait for \(id)")
        }
        let others = sizes.filter { $0.key != kind && values[$0.key] != nil }
        guard others.values.reduce(bytes, +) <= limits.keptNotificationBytes else {
            throw OpenURLError(.limitsExceeded, "the notifications waiting for \(id) are too large")
        }
        sizes = others
        sizes[kind] = bytes
        values[kind] = value
    }

    /// Adds a notification that is about to be sent, in place of an earlier one of its kind.
    mutating func add(_ kind: String, _ value: Value) {
        values[kind] = value
    }

    /// Keeps notifications again that were not sent after all, unless there are newer ones of their kinds.
    mutating func putBack(_ taken: [String: Value]) {
        values.merge(taken) { newer, _ in newer }
    }

    /// Removes and returns all notifications, because they are about to be sent.
    mutating func take() -> [String: Value] {
        defer { values = [:] }
        return values
    }
}
