/// A format for programs that the kernel starts through another program, for example an emulator for another machine's
/// programs (binfmt_misc).
package struct RegisteredFormat {
    /// The directory in which the kernel shows these formats.
    package static let directory = "/proc/sys/fs/binfmt_misc"

    private var isEnabled = false
    private var suffix: String?
    private var offset = 0
    private var magic: [UInt8] = []
    private var mask: [UInt8] = []

    /// Reads the description of a format.
    private init(_ text: String) {
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ", maxSplits: 1)
            switch (words.first, words.dropFirst().first) {
            case ("enabled", _): isEnabled = true
            case ("extension", let value?): suffix = String(value)
            case ("offset", let value?): offset = Int(value) ?? 0
            case ("magic", let value?): magic = Self.bytes(value)
            case ("mask", let value?): mask = Self.bytes(value)
            default: continue
            }
        }
    }

    private static func bytes(_ digits: Substring) -> [UInt8] {
        let digits = digits.compactMap(\.hexDigitValue)
        return stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    private func matches(_ head: [UInt8], _ path: String) -> Bool {
        guard isEnabled else { return false }
        if let suffix { return path.hasSuffix(suffix) }
        guard !magic.isEmpty, head.count >= offset + magic.count else { return false }
        return magic.indices.allSatisfy { index in
            let mask = mask.indices.contains(index) ? mask[index] : 0xFF
            return head[offset + index] & mask == magic[index] & mask
        }
    }

    /// Returns whether the kernel starts a file with another program.
    static func isRegistered(_ head: [UInt8], _ path: String, _ directory: String) -> Bool {
        let files: [[UInt8]]
        do throws(FileError) {
            files = try names(inDirectory: directory) ?? []
        } catch {
            // Without the directory, there are no such formats.
            return false
        }
        return files.contains { name in
            let file = "\(directory)/\(String(decoding: name, as: UTF8.self))"
            guard let text = firstBytes(of: file, count: 4096) else { return false }
            return RegisteredFormat(String(decoding: text, as: UTF8.self)).matches(head, path)
        }
    }
}
