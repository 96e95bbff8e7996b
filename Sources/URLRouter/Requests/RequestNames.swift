/// IDs for requests whose callers give none.
///
/// Because a handler may remember IDs for longer than the router runs, each router makes its own IDs from a counter and
/// 64 random bits that identify the router.
struct RequestNames {
    private let suffix = String(UInt64.random(in: .min ... .max), radix: 16)
    private var last: UInt64 = 0

    /// Returns the next ID.
    mutating func next() -> String {
        last += 1
        return "\(last)-\(suffix)"
    }
}
