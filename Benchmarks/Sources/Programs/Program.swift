public import Glibc

/// A program that a benchmark has started, with its output.
public final class Program {
    /// The process ID of the program.
    public private(set) var pid: pid_t = 0
    private let output: CInt
    private var text = ""

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - variables: The environment as `NAME=value` strings, instead of this process's own.
    ///   - log: The file to append the program's standard error to. By default it goes to this process's own.
    public init(_ path: String, _ arguments: [String], _ variables: [String] = [], log: String? = nil) throws {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw BenchmarkError("no pipe: errno \(errno)") }
        output = ends[0]
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        if let log { posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_APPEND, 0o600) }
        // Threads of Swift's runtime block signals, and a started program would inherit the mask.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var argv = ([path] + arguments).map { strdup($0) }
        var envp = (variables + Self.environment(without: variables)).map { strdup($0) }
        defer { for string in argv + envp { free(string) } }
        argv.append(nil)
        envp.append(nil)
        let status = posix_spawn(&pid, path, &actions, &attributes, argv, envp)
        close(ends[1])
        guard status == 0 else { throw BenchmarkError("\(path): errno \(status)") }
    }

    deinit {
        close(output)
    }

    /// Returns the path of a program in the directory of the running program.
    public static func path(besideThis name: String) -> String {
        let own = CommandLine.arguments[0]
        return own.prefix(through: own.lastIndex(of: "/") ?? own.startIndex) + name
    }

    private static func environment(without variables: [String]) -> [String] {
        let names = Set(variables.map { $0.prefix { $0 != "=" } })
        var entry = environ
        var environment: [String] = []
        while let text = entry.pointee {
            let text = String(cString: text)
            if !names.contains(text.prefix { $0 != "=" }) { environment.append(text) }
            entry += 1
        }
        return environment
    }

    /// Returns the next line of the output.
    public func readLine() throws -> String {
        while true {
            if let end = text.firstIndex(of: "\n") {
                defer { text.removeSubrange(...end) }
                return String(text[..<end])
            }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = read(output, &bytes, bytes.count)
            guard count > 0 else { throw BenchmarkError("a program ended after it said '\(text)'") }
            text += String(decoding: bytes.prefix(count), as: UTF8.self)
        }
    }

    /// Waits until the program exits, and returns `count` numbers from its only line.
    public func numbers(_ count: Int) throws -> [Double] {
        let line = try readLine()
        try finish()
        let numbers = line.split(separator: " ").compactMap { Double($0) }
        guard numbers.count == count else { throw BenchmarkError("not \(count) numbers: '\(line)'") }
        return numbers
    }

    /// Waits until the program exits. Any status but 0 is an error.
    public func finish() throws {
        var status: CInt = 0
        waitpid(pid, &status, 0)
        guard status == 0 else { throw BenchmarkError("a program ended with wait status \(status)") }
    }

    /// Ends the program.
    public func end() {
        kill(pid, SIGTERM)
        waitpid(pid, nil, 0)
    }

    /// Returns the program's resident memory in megabytes.
    public func residentMegabytes() throws -> Double {
        let fields = try contents(of: "/proc/\(pid)/statm").split(separator: " ")
        return (Double(fields.count > 1 ? fields[1] : "") ?? 0) * Double(sysconf(CInt(_SC_PAGESIZE))) / 1e6
    }
}

/// Why a benchmark cannot go on.
public struct BenchmarkError: Error, CustomStringConvertible {
    /// The reason as text.
    public let description: String

    /// Creates an error with a reason.
    public init(_ reason: String) {
        description = reason
    }
}

/// Returns the contents of a file as text.
public func contents(of path: String) throws -> String {
    guard let file = fopen(path, "r") else { throw BenchmarkError("\(path): errno \(errno)") }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
    return String(decoding: bytes, as: UTF8.self)
}
