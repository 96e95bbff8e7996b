/// Names for the requests whose callers give none.
///
/// Because a handler may remember names for longer than the router runs, each router makes its own names: a counter,
/// and 64 random bits that identify the router.
struct RequestNames {
    private let suffix = String(UInt64.random(in: .min ... .max), radix: 16)
    private var last: UInt64 = 0

    /// Returns the next name.
    mutating func next() -> String {
        last += 1
        return "\(last)-\(suffix)"
    }
}
