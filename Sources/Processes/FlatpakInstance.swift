internal import ByteCoding
internal import CLinux
internal import Glibc

/// A Flatpak sandbox, as described by the file `/.flatpak-info` at its root (flatpak-metadata(5)).
///
/// A Flatpak sandbox gives an application no way to replace this file. The proxy that connects the sandbox to the bus
/// has the same file at its root, so a sandbox's connection can be recognised by its proxy.
package struct FlatpakInstance: Hashable {
    /// The application's identifier, or the runtime's if a command runs only in a runtime.
    package let application: String
    /// The number that Flatpak gave the sandbox; nil if it has none.
    package let number: UInt64?

    private static let limit = 64 << 10

    /// Finds the sandbox that the process is in; nil if it is in none.
    package init?(pid: UInt32) {
        let root = open("/proc/\(pid)/root", CInt(OPEN_PATH) | O_DIRECTORY | O_CLOEXEC)
        guard root >= 0 else { return nil }
        defer { close(root) }
        // A process that sets up its own root could mount a file system there that never answers.
        guard let mounts = ProcessMounts(pid: pid), mounts.areAnsweredByTheKernel(at: root) else { return nil }
        let place = openat(root, ".flatpak-info", CInt(OPEN_PATH) | O_NOFOLLOW | O_CLOEXEC)
        guard place >= 0 else { return nil }
        defer { close(place) }
        guard mounts.areAnsweredByTheKernel(at: place),
            let bytes = ProcessFiles.bytes("fd/\(place)", pid: UInt32(getpid()), limit: Self.limit)
        else { return nil }
        self.init(String(decoding: bytes, as: UTF8.self))
    }

    /// Reads the text of the file: `name` in the group `Application`, or else in the group `Runtime`, and `instance-id`
    /// in the group `Instance`.
    init?(_ text: String) {
        guard !text.hasTooManyMarks else { return nil }
        var values: [Substring: Substring] = [:]
        var group: Substring = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("["), line.hasSuffix("]") { group = line.dropFirst().dropLast() }
            guard let equals = line.firstIndex(of: "=") else { continue }
            let key = "\(group).\(line[..<equals])"[...]
            if values[key] == nil { values[key] = line[line.index(after: equals)...] }
        }
        guard let name = values["Application.name"] ?? values["Runtime.name"] else { return nil }
        application = String(name)
        number = values["Instance.instance-id"].flatMap { UInt64($0) }
    }
}
