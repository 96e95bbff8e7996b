internal import CLinux
internal import Glibc

/// The file `/.flatpak-info` that Flatpak puts into each sandbox (flatpak-metadata(5)).
///
/// The sandbox of Flatpak gives an application no way to replace the file. The proxy that connects the sandbox with the bus
/// has the same file at its root, so the connection of a sandbox is recognised by the proxy.
enum FlatpakInstance {
    private static let limit = 64 << 10
    /// The size of the beginning of the table of mounts that is read. The sandboxes of Flatpak have some hundred mounts at most. A
    /// process that makes its own sandbox can make its table much longer, and has no identifier then.
    private static let tableLimit = 64 << 10
    /// The file systems of which the kernel itself answers each question. A process that makes its own root could put a file
    /// system of its own there, which never answers.
    private static let fileSystems: Set = ["btrfs", "ext4", "tmpfs", "xfs"]

    /// The identifier of the application in whose sandbox a process is; nil for any other process.
    static func application(pid: UInt32) -> String? {
        let root = open("/proc/\(pid)/root", CInt(OPEN_PATH) | O_DIRECTORY | O_CLOEXEC)
        guard root >= 0 else { return nil }
        defer { close(root) }
        guard let table = ProcessFiles.bytes("mountinfo", pid: pid, limit: tableLimit) else { return nil }
        guard isAnsweredByTheKernel(root, table) else { return nil }
        let place = openat(root, ".flatpak-info", CInt(OPEN_PATH) | O_NOFOLLOW | O_CLOEXEC)
        guard place >= 0 else { return nil }
        defer { close(place) }
        guard isAnsweredByTheKernel(place, table),
            let bytes = ProcessFiles.bytes("fd/\(place)", pid: UInt32(getpid()), limit: limit)
        else { return nil }
        return application(in: String(decoding: bytes, as: UTF8.self))
    }

    /// The `name` of the group `Application`, or of the group `Runtime` for a command that runs in a runtime alone.
    static func application(in text: String) -> String? {
        var names: [Substring: Substring] = [:]
        var group: Substring = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("["), line.hasSuffix("]") { group = line.dropFirst().dropLast() }
            if line.hasPrefix("name="), names[group] == nil { names[group] = line.dropFirst("name=".count) }
        }
        return (names["Application"] ?? names["Runtime"]).map(String.init)
    }

    /// Whether a descriptor of a place in a process's view of files is on one of ``fileSystems``. No file system is asked.
    ///
    /// - Parameter table: the mounts that the process sees.
    private static func isAnsweredByTheKernel(_ descriptor: CInt, _ table: [UInt8]) -> Bool {
        guard let info = ProcessFiles.bytes("fdinfo/\(descriptor)", pid: UInt32(getpid())),
            let mount = String(decoding: info, as: UTF8.self).split(separator: "\n").first(where: {
                $0.hasPrefix("mnt_id:")
            })?
            .split(whereSeparator: \.isWhitespace).last
        else { return false }
        let beginning = Array("\(mount) ".utf8)
        guard let line = table.split(separator: UInt8(ascii: "\n")).first(where: { $0.starts(with: beginning) }) else {
            return false
        }
        // The fields are the mount's number and others, a hyphen, the file system, and others (proc_pid_mountinfo(5)).
        let fields = String(decoding: line, as: UTF8.self).split(separator: " ")
        guard let hyphen = fields.firstIndex(of: "-"), hyphen + 1 < fields.count else { return false }
        return fileSystems.contains(String(fields[hyphen + 1]))
    }
}
