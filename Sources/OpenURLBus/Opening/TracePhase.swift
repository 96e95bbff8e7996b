public import DBus
internal import Glibc

/// One step in opening a URL: its name, when it was over, and its answer.
public struct TracePhase: DBusType, Hashable {
    /// The step's name: a delegate method without its arguments (`willFinishLaunching`), or one of the router's steps
    /// (`processStarted`, `ready`).
    public private(set) var name: String
    /// When the step was over, in microseconds since the router accepted the request.
    public private(set) var microseconds: UInt64
    /// The delegate method's answer; true for a step without an answer.
    public private(set) var answer: Bool

    /// Creates a step.
    public init(_ name: String, microseconds: UInt64, answer: Bool = true) {
        self.name = name
        self.microseconds = microseconds
        self.answer = answer
    }

    /// Creates a step that is over now.
    ///
    /// - Parameter start: When the router accepted the request, in microseconds on the clock of ``now``.
    public init(_ name: String, since start: UInt64, answer: Bool = true) {
        let now = Self.now
        self.init(name, microseconds: now > start ? now - start : 0, answer: answer)
    }

    /// The monotonic clock in microseconds. It is the same for all processes on a machine.
    public static var now: UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
    }

    /// The names of the router's steps, and of the steps taken by a handler that uses the Swift library.
    package static let knownNames: Set<String> = [
        "routed", "processStarted", "processResumed", "ready", "delivered", "answered", "willFinishLaunching",
        "shouldRestoreApplicationState",
        "didDecodeRestorableState", "didFinishLaunching", "didBecomeActive", "willResignActive", "didEnterBackground",
        "shouldSaveApplicationState", "willEncodeRestorableState", "willEnterForeground", "willTerminate",
        "didReceiveMemoryWarning", "didReceiveNotification", "didReceiveRemoteNotification",
        "didReceiveLocalNotification", "performTask", "open",
    ]

    private static let structure: Signature = "(stb)"

    /// `(stb)`
    public static var signature: Signature { structure }

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
}

extension TracePhase: FieldValue {
    /// The structure's members, in order. On the bus they have no names.
    package static let fields = FieldList(
        initial: TracePhase("", microseconds: 0),
        Field(
            "phase",
            { $0.name },
            { $0.name = $1 },
            "The name of the step: a delegate method, or a step of the router."
        ),
        Field(
            "microseconds",
            { $0.microseconds },
            { $0.microseconds = $1 },
            "The time when the step was over, in microseconds since the router accepted the request."
        ),
        Field(
            "answer",
            { $0.answer },
            { $0.answer = $1 },
            "The answer of the delegate method; true for a step without an answer."
        )
    )

    package init?(value: Value) {
        guard case .structure(let members) = value, members.count == 3, case .string(let name) = members[0],
            case .uint64(let microseconds) = members[1], case .boolean(let answer) = members[2]
        else { return nil }
        self.init(name, microseconds: microseconds, answer: answer)
    }

    package var content: FieldContent { .record(Self.fields.members(of: self)) }
}
