/// Limits of a share: amounts and times.
package struct ShareLimits: Sendable, Hashable {
    /// Number of connections at a time. Further ones are closed at once.
    package var connections = 32
    /// Number of connections that wait for a callback.
    package var waits = 8
    /// How long a request may take to arrive.
    package var requestTime = Duration.seconds(5)
    /// How long a callback at a port may take to arrive.
    package var callbackTime = Duration.seconds(300)

    /// Creates the documented limits.
    package init() {}
}
