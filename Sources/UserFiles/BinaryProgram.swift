/// The headers of a program in the Executable and Linkable Format (elf(5)).
struct BinaryProgram {
    private let machine: Int
    /// The path of the program that loads this one and its libraries; nil for a static program.
    let loader: String?

    /// Reads the headers; nil if the bytes are not the beginning of a program in this format.
    ///
    /// - Parameter head: the first bytes of the file. If the loader's name comes after these bytes, the loader is not
    ///   found.
    init?(_ head: [UInt8]) {
        guard head.starts(with: [0x7F] + "ELF".utf8), head.count >= 64 else { return nil }
        let is64 = head[4] == 2
        let isLittle = head[5] == 1
        /// Reads a number; nil if it is not within the bytes.
        func number(_ offset: Int, _ size: Int) -> Int? {
            guard offset >= 0, offset <= head.count - size else { return nil }
            let bytes = head[offset..<offset + size]
            let value = (isLittle ? Array(bytes.reversed()) : Array(bytes)).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return Int(exactly: value)
        }
        machine = number(18, 2) ?? 0
        var loader: String?
        let table = is64 ? number(32, 8) : number(28, 4)
        let size = number(is64 ? 54 : 42, 2) ?? 0
        let count = number(is64 ? 56 : 44, 2) ?? 0
        for index in 0..<count {
            // A table that begins after these bytes has no entry within them.
            guard let entry = table.map({ $0.addingReportingOverflow(index * size) }), !entry.overflow else { break }
            let start = entry.partialValue
            guard let kind = number(start, 4) else { break }
            guard kind == Self.interpreterEntry, let place = is64 ? number(start + 8, 8) : number(start + 4, 4),
                place < head.count
            else { continue }
            loader = head[place...].firstIndex(of: 0).flatMap { String(validating: head[place..<$0], as: UTF8.self) }
        }
        self.loader = loader
    }

    /// `PT_INTERP`.
    private static let interpreterEntry = 3

    // MARK: Other machines

    /// The name of the machine that the program is for; nil if this machine's kernel may be able to start it.
    var foreignMachine: String? {
        guard let own = Self.ownMachines, !own.contains(machine) else { return nil }
        return Self.names[machine] ?? "another kind of processor"
    }

    #if arch(x86_64)
        private static let ownMachines: Set? = [62, 3]
    #elseif arch(arm64)
        private static let ownMachines: Set? = [183, 40]
    #else
        private static let ownMachines: Set<Int>? = nil
    #endif

    private static let names = [
        3: "i386", 8: "MIPS", 20: "PowerPC", 21: "PowerPC", 22: "S390", 40: "Arm", 62: "x86-64", 183: "AArch64",
        243: "RISC-V", 258: "LoongArch",
    ]

    /// Returns the name of the other system that a program is for; nil if these bytes are not the beginning of such a
    /// program.
    static func foreignSystem(of head: [UInt8]) -> String? {
        let mac: [[UInt8]] = [[0xCF, 0xFA, 0xED, 0xFE], [0xCE, 0xFA, 0xED, 0xFE], [0xCA, 0xFE, 0xBA, 0xBE]]
        if mac.contains(where: head.starts) { return "macOS" }
        return head.starts(with: "MZ".utf8) && head.contains(0) ? "Windows" : nil
    }
}
