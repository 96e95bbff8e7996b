internal import Glibc

/// The serials of messages, which are drawn at random.
///
/// A session bus delivers answers that were never requested, and every receiver of a message sees its serial. A random
/// serial reveals nothing about the other serials, so an attacker cannot forge an answer by guessing the serial of a
/// call.
struct Serials {
    private var drawn: [UInt32] = []

    /// Returns a serial other than 0, which D-Bus does not allow.
    mutating func next() -> UInt32 {
        while true {
            if drawn.isEmpty { draw() }
            if let serial = drawn.popLast(), serial != 0 { return serial }
        }
    }

    /// Draws many serials at a time, because each request to the kernel costs a system call.
    private mutating func draw() {
        drawn.append(contentsOf: repeatElement(0, count: 64))
        let status = drawn.withUnsafeMutableBytes { getentropy($0.baseAddress, $0.count) }
        // The call fails only on kernels that are older than Swift.
        if status != 0 { drawn = [.random(in: 1 ... .max)] }
    }
}
