internal import ByteCoding
internal import Glibc
internal import Processes
internal import Translations

/// The system's own opener: the next `xdg-open` on the search path, or else `gio open`.
///
/// It opens the URL if there is no router, or if openurl knows no program for a URL or file that the system may have other ways
/// for, such as `BROWSER` and mailcap.
struct OtherOpener {
    /// The path of the program.
    let path: String
    private let arguments: [String]
    private let target: CommandLineArgument

    /// The variable with a hash of the URL that has been passed on. An opener that comes back here with the same URL would otherwise
    /// get it again, without end. The URL itself may contain secrets, such as tokens that nobody can guess, and the browser keeps the
    /// variable.
    private static let variable = "OPENURL_PASSED_ON"

    private static func mark(_ target: CommandLineArgument) -> String {
        var hash = Checksum()
        hash.add(target.shown)
        return String(hash.value, radix: 16)
    }

    /// The schemes that `xdg-open` of xdg-utils is for (xdg-open(1)).
    private static let schemes = ["file", "ftp", "http", "https"]

    /// Returns whether `xdg-open` of xdg-utils may know a program for a URL or a file that the desktop's files do not name.
    static func mayKnow(_ target: CommandLineArgument) -> Bool {
        !target.hasScheme || schemes.contains { target.shown.lowercased().hasPrefix("\($0):") }
    }

    /// Finds the opener; nil if there is none, or if it has had the URL already.
    init?(for target: CommandLineArgument, _ environment: (String) -> String?) {
        guard environment(Self.variable) != Self.mark(target) else { return nil }
        self.target = target
        let path = environment("PATH") ?? "/usr/local/bin:/usr/bin:/bin"
        let directories = path.split(separator: ":").filter { $0.hasPrefix("/") }
        for (name, arguments) in [(XDGOpen.name, []), ("gio", ["open"])] {
            for directory in directories {
                let file = "\(directory)/\(name)"
                guard access(file, X_OK) == 0, !Self.isThisProgram(file) else { continue }
                self.path = file
                self.arguments = arguments
                return
            }
        }
        return nil
    }

    /// Replaces this process's program with the opener.
    ///
    /// - Returns: the reason, if that has failed.
    func become() -> String {
        setenv(Self.variable, Self.mark(target), 1)
        var pointers = ([path] + arguments).map { strdup($0) }
        pointers.append(strndup(target.bytes.map(CChar.init(bitPattern:)) + [0], target.bytes.count))
        pointers.append(nil)
        defer { for pointer in pointers { free(pointer) } }
        execv(path, pointers)
        return translated("\(path) cannot be run: \(systemErrorText(errno))")
    }

    private static func isThisProgram(_ file: String) -> Bool {
        var other = stat()
        var own = stat()
        return stat(file, &other) == 0 && stat("/proc/self/exe", &own) == 0
            && other.st_dev == own.st_dev && other.st_ino == own.st_ino
    }
}
