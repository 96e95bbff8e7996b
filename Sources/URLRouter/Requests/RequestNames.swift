/// The names of the requests whose callers give none.
///
/// A handler may remember the names for longer than the router runs, so each router has names of its own: a counter, and 64
/// random bits that are the router's.
struct RequestNames {
    private let suffix = String(UInt64.random(in: .min ... .max), radix: 16)
    private var last: UInt64 = 0

    /// The next name.
    mutating func next() -> String {
        last += 1
        return "\(last)-\(suffix)"
    }
}
