import Glibc

/// A program that was started for the comparison, and what it prints.
final class Program {
    private var pid: pid_t = 0
    private let output: CInt
    private var text = ""

    /// - Parameter variables: `NAME=value` each, instead of those in this process's own environment.
    init(_ path: String, _ arguments: [String], _ variables: [String]) throws {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw BenchmarkError(reason: "no pipe: errno \(errno)") }
        output = ends[0]
        _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        posix_spawn_file_actions_addclose(&actions, ends[1])
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var argv = ([path] + arguments).map { strdup($0) }
        var envp = (variables + Self.environment(without: variables)).map { strdup($0) }
        defer { for string in argv + envp { free(string) } }
        argv.append(nil)
        envp.append(nil)
        let status = posix_spawn(&pid, path, &actions, nil, argv, envp)
        close(ends[1])
        guard status == 0 else { throw BenchmarkError(reason: "\(path): errno \(status)") }
    }

    deinit {
        close(output)
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

    /// The next line that it prints; empty when it has ended.
    func readLine() throws -> String {
        var byte: UInt8 = 0
        var bytes: [UInt8] = []
        while read(output, &byte, 1) == 1, byte != UInt8(ascii: "\n") { bytes.append(byte) }
        return String(decoding: bytes, as: UTF8.self)
    }

    func residentMegabytes() throws -> Double {
        guard let file = fopen("/proc/\(pid)/statm", "r") else { throw BenchmarkError(reason: "it has ended") }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        fgets(&line, CInt(line.count), file)
        let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let fields = text.split(separator: " ")
        return (Double(fields.count > 1 ? fields[1] : "") ?? 0) * Double(sysconf(CInt(_SC_PAGESIZE))) / 1e6
    }

    func finish() throws {
        var status: CInt = 0
        waitpid(pid, &status, 0)
        guard status == 0 else { throw BenchmarkError(reason: "a program ended with \(status)") }
    }

    func end() {
        kill(pid, SIGTERM)
        waitpid(pid, nil, 0)
    }
}
