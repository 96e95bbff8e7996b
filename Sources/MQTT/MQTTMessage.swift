/// A message that a broker has delivered.
public struct MQTTMessage: Sendable {
    /// The topic that it was published to.
    public let topic: String
    /// The contents.
    public let payload: [UInt8]
    /// Whether the broker has kept it for subscribers that come later, so that it may be old.
    public let isRetained: Bool
    /// Response Topic: where the publisher expects an answer; nil if it expects none.
    public let responseTopic: String?
    /// Correlation Data: what the publisher will recognise the answer by.
    public let correlation: [UInt8]?
    /// Message Expiry Interval: how long the message is still of use, as the broker has counted; nil if it never expires.
    public let expiry: Duration?
}
