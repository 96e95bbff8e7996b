internal import Processes
internal import UserFiles

extension FlatpakInstance {
    /// Programs that start the application in the sandbox.
    private static let starters: Set = ["bwrap", "sh", "dash", "bash", "busybox"]
    private static let depth = 8
    /// Maximum size of the file that bwrap writes.
    private static let noteLimit = 64 << 10

    /// Returns the process that the sandbox's command has become or has started; nil if Flatpak does not record it.
    ///
    /// Flatpak records each sandbox's first process in the user's session directory. Sandboxes can write to a few
    /// directories beside that record, but the names of those directories are not numbers. The process is accepted only
    /// if the same file is in its own root.
    ///
    /// - Parameter directory: the user's session directory, `$XDG_RUNTIME_DIR`.
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

    /// Returns the process ID after `child-pid` in the file that bwrap has written.
    private static func firstProcess(ofInstance number: UInt64, in directory: String) -> UInt32? {
        do throws(FileError) {
            let instance = try PrivateDirectory("\(directory)/.flatpak/\(number)", depth: 2)
            let bytes = try instance.contents(of: "bwrapinfo.json", limit: noteLimit)
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
