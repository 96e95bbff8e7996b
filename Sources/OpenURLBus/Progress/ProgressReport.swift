/// A handler's report about its work on a URL.
public struct ProgressReport: Sendable, Hashable {
    /// The fraction of the work that is done, from 0 to 1.
    public let fraction: Double
    /// The current work in words, for people to read; at most ``messageBytes`` long, and perhaps empty.
    public let message: String

    /// Maximum size of a message, in bytes. If it is longer, the rest is cut off.
    public static let messageBytes = 256

    /// Creates a report. If the fraction is below 0, it counts as 0; if it is above 1, as 1.
    ///
    /// - Returns: Nil if the fraction is not a number.
    public init?(_ fraction: Double, _ message: String = "") {
        guard !fraction.isNaN else { return nil }
        self.fraction = min(max(fraction, 0), 1)
        self.message = Self.bounded(message)
    }

    private static func bounded(_ message: String) -> String {
        guard message.utf8.count > messageBytes else { return message }
        var left = messageBytes
        return String(
            message.prefix { character in
                left -= character.utf8.count
                return left >= 0
            }
        )
    }
}
