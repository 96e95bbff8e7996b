import Glibc
import SystemPackage

/// A program that was started for the comparison, and what it prints.
final class Program {
    private var pid: pid_t = 0
    private let output: FileDescriptor
    private var text = ""

    init(_ path: String, _ arguments: [String]) throws {
        let pipe = try FileDescriptor.pipe()
        output = pipe.readEnd
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, pipe.writeEnd.rawValue, 1)
        posix_spawn_file_actions_addclose(&actions, pipe.readEnd.rawValue)
        var argv = ([path] + arguments).map { strdup($0) }
        defer { for string in argv { free(string) } }
        argv.append(nil)
        let status = posix_spawn(&pid, path, &actions, nil, argv, environ)
        try pipe.writeEnd.close()
        guard status == 0 else { throw Errno(rawValue: status) }
    }

    deinit {
        close(output.rawValue)
    }

    /// The next line that it prints.
    func readLine() throws -> String {
        while true {
            if let end = text.firstIndex(of: "\n") {
                defer { text.removeSubrange(...end) }
                return String(text[..<end])
            }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = try bytes.withUnsafeMutableBytes { try output.read(into: $0) }
            guard count > 0 else { throw BenchmarkError.programFailed("it said: \(text)") }
            text += String(decoding: bytes.prefix(count), as: UTF8.self)
        }
    }

    /// The numbers in its one line, after its end.
    func numbers() throws -> [Double] {
        let numbers = try readLine().split(separator: " ").compactMap { Double($0) }
        try finish()
        guard numbers.count == 2 else { throw BenchmarkError.programFailed("no numbers") }
        return numbers
    }

    func finish() throws {
        var status: CInt = 0
        waitpid(pid, &status, 0)
        guard status == 0 else { throw BenchmarkError.programFailed("it ended with \(status)") }
    }

    func end() {
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
    }
}
