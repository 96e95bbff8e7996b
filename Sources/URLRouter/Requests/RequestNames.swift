/// IDs for requests whose callers give none.
///
/// Because a handler may remember IDs for longer than the router runs, each router makes its own IDs from a counter and
/// 40 random bits that identify the router. With only 40 bits, the first million IDs have at most 15 bytes, which Swift
/// stores without allocating memory.
struct RequestNames {
    private let suffix = String(UInt64.random(in: 0..<1 << 40), radix: 36)
    private var last: UInt64 = 0

    /// Returns the next ID.
    mutating func next() -> String {
        last += 1
        return "\(last)-\(suffix)"
    }
}
