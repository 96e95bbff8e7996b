internal import CLinux
internal import Glibc

/// The mounts that a process sees.
///
/// They matter because a file system provided by a program or by another machine may never answer, and a router
/// examines processes on its event loop.
package struct ProcessMounts {
    /// Maximum number of bytes of the table to read. A Flatpak sandbox has a few hundred mounts at most. If a process
    /// makes its table larger than this, its mounts count as unknown.
    private static let limit = 64 << 10
    /// File systems for which the kernel itself answers every request.
    private static let fileSystems: Set = ["btrfs", "ext4", "tmpfs", "xfs"]

    private let table: [UInt8]

    /// Reads the mounts; nil if the process has exited or belongs to another user.
    package init?(pid: UInt32) {
        guard let table = ProcessFiles.bytes("mountinfo", pid: pid, limit: Self.limit) else { return nil }
        self.table = table
    }

    /// Returns whether a descriptor of this process that refers to a file in these mounts is on a file system for which
    /// the kernel itself answers. This does not access any file system.
    package func areAnsweredByTheKernel(at descriptor: CInt) -> Bool {
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
        // Each line has the mount's number and other fields, a hyphen, the file system, and more fields
        // (proc_pid_mountinfo(5)).
        let fields = String(decoding: line, as: UTF8.self).split(separator: " ")
        guard let hyphen = fields.firstIndex(of: "-"), hyphen + 1 < fields.count else { return false }
        return Self.fileSystems.contains(String(fields[hyphen + 1]))
    }
}
