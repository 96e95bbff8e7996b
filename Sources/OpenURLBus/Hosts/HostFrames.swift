package import DBus

/// The messages between a router's carrier and `openurl receive` on another host, over the streams of an ssh session.
///
/// Each is a length of four bytes, the lowest first, and a body in the form of `MessageArchive`. The far side speaks first,
/// with ``Hello``. After that, each ``Request`` gets one ``Answer``, in any order.
package enum HostFrames {
    /// The first message, from the far side.
    ///
    /// The first value is ``protocolName``. The second is what the far machine's clock shows, in milliseconds since its start,
    /// including the time that it sleeps.
    package typealias Hello = Arguments<String, UInt64>
    /// A request with its number, and the time on the far machine's clock after which it must not be taken; 0 for none.
    ///
    /// The deadline is on the far machine's clock, because a machine that sleeps may find the request in its socket hours
    /// later. The near side reckons it from the clock in ``Hello``, which has aged on its way, so it is never too late.
    package typealias Request = Arguments<UInt32, UInt64, HostRequest>
    /// The outcome of the request with a number.
    package typealias Answer = Arguments<UInt32, OpenOutcome>

    /// The first word of a far side that speaks this protocol.
    package static let protocolName = "openurl-receive 1"

    /// Maximum size of a body in bytes, and of its values in memory: a request or an outcome, and the rest of its message.
    package static let limit = HostsInterface.largestRequest + 4096

    /// Returns a message's bytes.
    ///
    /// - Throws: an error if the body is too large, or holds a descriptor.
    package static func bytes<Body: MessageBody>(of body: Body) throws(MessageEncodingError) -> [UInt8] {
        let bytes = try MessageArchive.bytes(of: body, limit: limit)
        let count = UInt32(bytes.count)
        return (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) } + bytes
    }

    /// The bytes that have arrived, and are not yet a whole message.
    package struct Input: Sendable {
        private var bytes: [UInt8] = []
        private var start = 0

        /// Creates an input without bytes.
        package init() {}

        /// Adds bytes that have arrived.
        package mutating func append(_ chunk: some Collection<UInt8>) {
            if start > 0 {
                bytes.removeFirst(start)
                start = 0
            }
            bytes += chunk
        }

        /// Takes the next whole message.
        ///
        /// - Returns: nil if the message is not complete.
        /// - Throws: an error if what arrived is not a message of this type, or is too long. Nothing that follows can be
        ///   read.
        package mutating func next<Body: MessageBody>(_ type: Body.Type) throws(MessageDecodingError) -> Body? {
            guard bytes.count - start >= 4 else { return nil }
            let count = (0..<4).reduce(0) { $0 | Int(bytes[start + $1]) << (8 * $1) }
            guard count <= HostFrames.limit else { throw .invalidValue("a message of \(count) bytes") }
            guard bytes.count - start - 4 >= count else { return nil }
            let body = Array(bytes[(start + 4)..<(start + 4 + count)])
            start += 4 + count
            return try MessageArchive.body(from: body, limit: HostFrames.limit)
        }
    }
}
