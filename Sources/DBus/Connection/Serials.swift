internal import Glibc

/// The numbers that messages are sent under.
///
/// A session bus delivers answers that nobody asked for, and everybody sees the number of a message that reaches him. As
/// each is drawn at random, that tells nothing about the number of another, and answers cannot be forged by guessing.
struct Serials {
    private var drawn: [UInt32] = []

    /// A number that is not 0, which D-Bus does not allow.
    mutating func next() -> UInt32 {
        while true {
            if drawn.isEmpty { draw() }
            if let serial = drawn.popLast(), serial != 0 { return serial }
        }
    }

    /// Asks the kernel for many at a time, as each time costs a system call.
    private mutating func draw() {
        drawn.append(contentsOf: repeatElement(0, count: 64))
        let status = drawn.withUnsafeMutableBytes { getentropy($0.baseAddress, $0.count) }
        // Only a kernel that is older than Swift has no such call.
        if status != 0 { drawn = [.random(in: 1 ... .max)] }
    }
}
