internal import CLinux
internal import Glibc

/// A file that a shell has open in addition to its standard streams, such as the script that it runs.
///
/// Because a shell keeps its script open, the kernel knows which file it is, no matter which link or argument led to
/// it. Finding it does not access any file system.
package struct ShellScript {
    /// The file's path, without links.
    package let path: String
    private let descriptor: String
    private let pid: UInt32

    /// The smallest descriptor to check. Smaller ones belong to a script's own redirections; a shell uses larger ones
    /// for the script itself.
    private static let firstNumber = 10
    /// Maximum number of descriptors to check.
    private static let limit = 64
    /// Maximum size of a script that is read. The largest version of xdg-open is 40 KB.
    private static let sizeLimit = 256 << 10

    /// Returns the files that a shell has open, in no particular order.
    package static func files(openIn pid: UInt32) -> [ShellScript] {
        guard let directory = opendir("/proc/\(pid)/fd") else { return [] }
        defer { closedir(directory) }
        var files: [ShellScript] = []
        var count = 0
        while count < limit, let entry = readdir(directory) {
            count += 1
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let number = Int(name), number >= firstNumber,
                let path = ProcessFiles.link("fd/\(name)", pid: pid), path.hasPrefix("/")
            else { continue }
            files.append(ShellScript(path: path, descriptor: "fd/\(name)", pid: pid))
        }
        return files
    }

    /// Returns whether the file has the same content as the given one, which belongs to the system.
    ///
    /// If the file is on a file system that might not answer, this is false.
    package func isCopy(of original: String) -> Bool {
        let place = open("/proc/\(pid)/\(descriptor)", CInt(OPEN_PATH) | O_CLOEXEC)
        guard place >= 0 else { return false }
        defer { close(place) }
        var (copy, status) = (stat(), stat())
        guard ProcessMounts(pid: pid)?.areAnsweredByTheKernel(at: place) == true, fstat(place, &copy) == 0,
            copy.st_mode & S_IFMT == S_IFREG, stat(original, &status) == 0, copy.st_size == status.st_size,
            copy.st_size <= Self.sizeLimit,
            let bytes = ProcessFiles.bytes("fd/\(place)", pid: UInt32(getpid()), limit: Self.sizeLimit)
        else { return false }
        return bytes == ProcessFiles.contents(of: original, limit: Self.sizeLimit)
    }
}
