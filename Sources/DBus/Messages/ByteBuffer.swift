internal import CLinux
internal import Glibc

/// A message's bytes, according to "Marshaling (Wire Format)" in the D-Bus specification.
///
/// It is used instead of an array, because appending to an array costs more than all the writer's other work: each
/// append checks whether the array has other owners. This buffer has one owner.
struct ByteBuffer: ~Copyable {
    private var base: UnsafeMutableRawPointer
    private var capacity: Int
    private(set) var count = 0

    init(capacity: Int) {
        base = .allocate(byteCount: capacity, alignment: 8)
        self.capacity = capacity
    }

    init(_ bytes: some Collection<UInt8>) {
        self.init(capacity: bytes.count)
        UnsafeMutableRawBufferPointer(start: base, count: capacity).copyBytes(from: bytes)
        count = capacity
    }

    deinit {
        base.deallocate()
    }

    init(_ bytes: UnsafeRawBufferPointer) {
        self.init(capacity: bytes.count)
        append(contentsOf: bytes)
    }

    /// The address of the first byte. It is valid as long as the buffer exists and does not grow.
    var start: UnsafeRawPointer { UnsafeRawPointer(base) }
    /// The bytes. They are valid as long as the buffer exists and does not grow.
    var contents: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }
    /// Number of bytes for which there is room without growing.
    var room: Int { capacity - count }

    /// A copy of the bytes.
    var array: [UInt8] { Array(UnsafeRawBufferPointer(start: base, count: count)) }

    subscript(place: Int) -> UInt8 {
        precondition(place < count)
        return base.load(fromByteOffset: place, as: UInt8.self)
    }

    /// Whether the bytes at the given position are those of the string.
    func holds(_ text: StaticString, at place: Int) -> Bool {
        precondition(place + text.utf8CodeUnitCount <= count)
        return memcmp(base + place, text.utf8Start, text.utf8CodeUnitCount) == 0
    }

    /// Removes all bytes from a position onwards.
    mutating func truncate(to place: Int) {
        count = min(count, place)
    }

    /// Removes bytes from the beginning.
    mutating func removeFirst(_ removed: Int) {
        precondition(removed <= count)
        count -= removed
        memmove(base, base + removed, count)
    }

    /// Makes room for this many bytes in all.
    mutating func reserve(_ size: Int) {
        if size > capacity { grow(to: size) }
    }

    /// Lets `body` fill the room after the bytes.
    ///
    /// - Parameter body: Returns how many bytes it has set; a negative number stands for none.
    mutating func fill(_ body: (UnsafeMutableRawBufferPointer) -> Int) -> Int {
        let filled = body(UnsafeMutableRawBufferPointer(start: base + count, count: room))
        precondition(filled <= room)
        count += max(filled, 0)
        return filled
    }

    /// Makes room for more bytes, whose values the caller sets.
    private mutating func extend(by size: Int) -> UnsafeMutableRawPointer {
        if size > capacity - count { grow(by: size) }
        defer { count += size }
        return base + count
    }

    @inline(never) private mutating func grow(by size: Int) {
        grow(to: max(2 * capacity, count + size))
    }

    private mutating func grow(to size: Int) {
        capacity = size
        let larger = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 8)
        larger.copyMemory(from: base, byteCount: count)
        base.deallocate()
        base = larger
    }

    mutating func append(_ byte: UInt8) {
        extend(by: 1).storeBytes(of: byte, as: UInt8.self)
    }

    mutating func append(contentsOf bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress else { return }
        extend(by: bytes.count).copyMemory(from: start, byteCount: bytes.count)
    }

    /// Appends the bytes of a string.
    mutating func append(utf8 text: String) {
        Self.copy(text, to: extend(by: text.utf8.count))
    }

    private static func copy(_ text: String, to place: UnsafeMutableRawPointer) {
        func copy(_ bytes: UnsafeBufferPointer<UInt8>) {
            if let start = bytes.baseAddress { place.copyMemory(from: start, byteCount: bytes.count) }
        }
        // `withUTF8` would need a copy, which adds a reference.
        if text.utf8.withContiguousStorageIfAvailable(copy) == nil {
            var text = text
            text.withUTF8(copy)
        }
    }

    /// Appends zeros up to a multiple of a power of two, at most 8.
    @inline(__always) mutating func pad(to alignment: Int) {
        let size = -count & (alignment - 1)
        if size == 0 { return }
        // One store of eight bytes is faster than a loop. The next value overwrites the bytes that are not padding.
        let room = MemoryLayout<UInt64>.size
        if room > capacity - count { grow(by: room) }
        base.storeBytes(of: 0, toByteOffset: count, as: UInt64.self)
        count += size
    }

    /// Appends a number with its padding.
    mutating func append<Number: BitwiseCopyable>(number: Number) {
        pad(to: MemoryLayout<Number>.size)
        extend(by: MemoryLayout<Number>.size).storeBytes(of: number, as: Number.self)
    }

    /// Appends a string or an object path.
    ///
    /// - Returns: False if the text contains a NUL.
    mutating func append(text: String) -> Bool {
        let size = text.utf8.count
        append(number: UInt32(size))
        let place = extend(by: size + 1)
        Self.copy(text, to: place)
        place.storeBytes(of: 0, toByteOffset: size, as: UInt8.self)
        return memchr(place, 0, size) == nil
    }

    /// Appends a signature, which has to be valid.
    mutating func append(signature: Signature) {
        append(UInt8(signature.rawValue.utf8.count))
        append(utf8: signature.rawValue)
        append(0)
    }

    /// Returns a number.
    ///
    /// - Parameter isSwapped: Whether the number has the other byte order.
    func number(at place: Int, _ isSwapped: Bool) -> UInt32 {
        precondition(place + MemoryLayout<UInt32>.size <= count)
        let number = base.load(fromByteOffset: place, as: UInt32.self)
        return isSwapped ? number.byteSwapped : number
    }

    /// Replaces the bytes of a number.
    mutating func set(_ number: UInt32, at place: Int) {
        precondition(place + MemoryLayout<UInt32>.size <= count)
        base.storeBytes(of: number, toByteOffset: place, as: UInt32.self)
    }
}

extension [UInt8] {
    /// Replaces the bytes of a number.
    mutating func set(_ number: UInt32, at place: Int) {
        withUnsafeMutableBytes { $0.storeBytes(of: number, toByteOffset: place, as: UInt32.self) }
    }
}
