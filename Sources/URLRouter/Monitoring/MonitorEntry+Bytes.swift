internal import ByteCoding
internal import DBus
internal import OpenURLBus

/// The log's entries as bytes.
///
/// A log with thousands of URLs a second spends most of its time on these bytes. A message's bytes, with the key and the
/// type of each value, take eight times as long.
extension MonitorEntry {
    /// The first byte. Entries with another one belong to an earlier or a later version.
    private static let format: UInt8 = 1

    /// Appends the entry, apart from its time, which is the key of its row.
    func write(to writer: inout ByteWriter) {
        writer.write(byte: Self.format)
        writer.write(kind.rawValue)
        writer.write(requestID) { $0.write($1) }
        writer.write(source) { $0.write($1) }
        writer.write(callerClass.rawValue)
        writer.write(pid) { $0.write(UInt64($1)) }
        writer.write(url) { $0.write($1) }
        writer.write(handler) { $0.write($1) }
        writer.write(rule) { $0.write($1) }
        writer.write(decision) { $0.write($1.rawValue) }
        writer.write(decisionReason) { $0.write($1) }
        writer.write(attempt) { $0.write(UInt64($1)) }
        writer.write(way) { $0.write($1.rawValue) }
        writer.write(trace) {
            $0.write($1.name)
            $0.write($1.microseconds)
            $0.write($1.answer)
        }
        writer.write(microseconds) { $0.write($1) }
        writer.write(error) {
            $0.write($1.name.rawValue)
            $0.write($1.message)
        }
    }

    /// Reads an entry.
    ///
    /// - Parameter time: the key of its row.
    init(time: UInt64, from reader: inout ByteReader) throws(ByteReader.Mismatch) {
        guard try reader.byte() == Self.format else { throw ByteReader.Mismatch() }
        self.init(time: time, kind: .open)
        kind = Reported(rawValue: try reader.text())
        requestID = try reader.optional(ByteReader.text)
        source = try reader.optional(ByteReader.text)
        callerClass = Reported(rawValue: try reader.text())
        pid = try reader.optional(ByteReader.number)
        url = try reader.optional(ByteReader.text)
        handler = try reader.optional(ByteReader.text)
        rule = try reader.optional(ByteReader.text)
        decision = try reader.optional(ByteReader.text).map { Reported(rawValue: $0) }
        decisionReason = try reader.optional(ByteReader.text)
        attempt = try reader.optional(ByteReader.number)
        way = try reader.optional(ByteReader.text).map { Reported(rawValue: $0) }
        trace = try reader.list { (reader) throws(ByteReader.Mismatch) in
            TracePhase(try reader.text(), microseconds: try reader.unsigned(), answer: try reader.flag())
        }
        microseconds = try reader.optional { (reader) throws(ByteReader.Mismatch) in try reader.unsigned() }
        error = try reader.optional { (reader) throws(ByteReader.Mismatch) in
            guard let name = ErrorName(rawValue: try reader.text()) else { throw ByteReader.Mismatch() }
            return RemoteError(name, try reader.text())
        }
        try reader.end()
    }
}

extension ByteReader {
    /// Reads a string that a message may have, because the file may be damaged.
    fileprivate static func text(_ reader: inout ByteReader) throws(Mismatch) -> String { try reader.text() }

    fileprivate mutating func text() throws(Mismatch) -> String {
        let text = try string()
        guard !text.utf8.contains(0), !text.hasTooManyMarks else { throw Mismatch() }
        return text
    }

    fileprivate static func number(_ reader: inout ByteReader) throws(Mismatch) -> UInt32 {
        guard let number = UInt32(exactly: try reader.unsigned()) else { throw Mismatch() }
        return number
    }
}
