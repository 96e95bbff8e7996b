public import DBus
internal import Glibc

/// One step of a sequence: what was called, when, and what it answered.
public struct TracePhase: DBusType, Hashable {
    /// The step: a delegate method without its arguments (`willFinishLaunching`), or a step of the router's
    /// (`processStarted`, `ready`).
    public let name: String
    /// When the step was over, in microseconds since the router accepted the request.
    public let microseconds: UInt64
    /// What the delegate answered; true for a step that answers nothing.
    public let answer: Bool

    /// Makes a step.
    public init(_ name: String, microseconds: UInt64, answer: Bool = true) {
        self.name = name
        self.microseconds = microseconds
        self.answer = answer
    }

    /// Makes a step that is over now.
    ///
    /// - Parameter start: the request's acceptance, in microseconds of ``now``.
    public init(_ name: String, since start: UInt64, answer: Bool = true) {
        let now = Self.now
        self.init(name, microseconds: now > start ? now - start : 0, answer: answer)
    }

    /// Microseconds of the system's monotonic clock, which all processes of a machine read alike.
    public static var now: UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
    }

    /// `(stb)`
    public static var signature: Signature { "(stb)" }

    /// Reads a step.
    public init(from reader: inout MessageReader) throws(MessageDecodingError) {
        var phase: TracePhase?
        try reader.readStructure { (reader) throws(MessageDecodingError) in
            phase = TracePhase(
                try reader.readString(),
                microseconds: try reader.readUInt64(),
                answer: try reader.readBool()
            )
        }
        guard let phase else { throw .invalidValue("an empty structure") }
        self = phase
    }

    /// Appends the step.
    public func write(to writer: inout MessageWriter) throws(MessageEncodingError) {
        try writer.appendStructure { (writer) throws(MessageEncodingError) in
            try writer.append(name)
            try writer.append(microseconds)
            try writer.append(answer)
        }
    }

    /// The step as a value of run time.
    var value: Value { .structure([.string(name), .uint64(microseconds), .boolean(answer)]) }
}
