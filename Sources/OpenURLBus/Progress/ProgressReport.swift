/// A report of a handler about its work on a URL.
public struct ProgressReport: Sendable, Hashable {
    /// The part of the work that is done, from 0 to 1.
    public let fraction: Double
    /// The current work in words, for a person; at most ``messageBytes``. The text may be empty.
    public let message: String

    /// The largest size of a message, in bytes. The rest of a longer message is cut off.
    public static let messageBytes = 256

    /// Creates a report. A fraction below 0 counts as 0, and a fraction above 1 as 1.
    ///
    /// - Returns: nil if the fraction is not a number.
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
