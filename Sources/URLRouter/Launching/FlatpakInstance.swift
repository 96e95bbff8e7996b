internal import ByteCoding
internal import CLinux
internal import Glibc
internal import UserFiles

/// A sandbox of Flatpak, as the file `/.flatpak-info` at its root describes it (flatpak-metadata(5)).
///
/// The sandbox of Flatpak gives an application no way to replace the file. The proxy that connects the sandbox with the bus
/// has the same file at its root, so the connection of a sandbox is recognised by the proxy.
struct FlatpakInstance: Hashable {
    /// The identifier of the application, or of the runtime for a command that runs in a runtime alone.
    let application: String
    /// The number that Flatpak has given the sandbox; nil without one.
    let number: UInt64?

    private static let limit = 64 << 10

    /// The sandbox that a process is in; nil for any other process.
    init?(pid: UInt32) {
        let root = open("/proc/\(pid)/root", CInt(OPEN_PATH) | O_DIRECTORY | O_CLOEXEC)
        guard root >= 0 else { return nil }
        defer { close(root) }
        // A process that makes its own root could put a file system of its own there, which never answers.
        guard let mounts = ProcessMounts(pid: pid), mounts.areAnsweredByTheKernel(at: root) else { return nil }
        let place = openat(root, ".flatpak-info", CInt(OPEN_PATH) | O_NOFOLLOW | O_CLOEXEC)
        guard place >= 0 else { return nil }
        defer { close(place) }
        guard mounts.areAnsweredByTheKernel(at: place),
            let bytes = ProcessFiles.bytes("fd/\(place)", pid: UInt32(getpid()), limit: Self.limit)
        else { return nil }
        self.init(String(decoding: bytes, as: UTF8.self))
    }

    /// Reads the text of the file: `name` of the group `Application`, or else of the group `Runtime`, and `instance-id` of the
    /// group `Instance`.
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

    // MARK: The process

    /// The programs that start the application in the sandbox.
    private static let starters: Set = ["bwrap", "sh", "dash", "bash", "busybox"]
    private static let depth = 8

    /// The process that the command of the sandbox has become or has started; nil if Flatpak does not say.
    ///
    /// Flatpak notes the first process of each sandbox in the directory of the user's session. A sandbox can write to a few
    /// directories beside this one, and their names are no numbers. The process counts only if its own root has the same file.
    ///
    /// - Parameter directory: the directory of the user's session, `$XDG_RUNTIME_DIR`.
    func process(in directory: String) -> UInt32? {
        guard let number, var pid = Self.firstProcess(ofInstance: number, in: directory) else { return nil }
        for _ in 0..<Self.depth {
            guard FlatpakInstance(pid: pid) == self else { return nil }
            let program = ProcessProgram.path(pid: pid)?.split(separator: "/").last.map(String.init) ?? ""
            guard Self.starters.contains(program) else { return pid }
            let children = ProcessFiles.bytes("task/\(pid)/children", pid: pid) ?? []
            let pids = String(decoding: children, as: UTF8.self).split(separator: " ").compactMap { UInt32($0) }
            guard pids.count == 1 else { return program == "bwrap" ? nil : pid }
            pid = pids[0]
        }
        return nil
    }

    /// The number after `child-pid` in the file that bwrap has written.
    private static func firstProcess(ofInstance number: UInt64, in directory: String) -> UInt32? {
        do throws(FileError) {
            let instance = try PrivateDirectory("\(directory)/.flatpak/\(number)", depth: 2)
            let bytes = try instance.contents(of: "bwrapinfo.json", limit: limit)
            let words = String(decoding: bytes, as: UTF8.self).split { !($0.isLetter || $0.isNumber || $0 == "-") }
            guard let key = words.firstIndex(of: "child-pid"), words.index(after: key) < words.endIndex else {
                return nil
            }
            return UInt32(words[words.index(after: key)])
        } catch {
            return nil
        }
    }
}
