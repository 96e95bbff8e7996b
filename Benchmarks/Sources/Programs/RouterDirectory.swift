public import DBus
internal import Glibc
internal import OpenURLBus

/// The files of a router and its handlers, for a single run.
public struct RouterDirectory {
    /// The path of the directory.
    public let root: String
    /// Environment variables that make a program find the files, as `NAME=value` strings.
    public let variables: [String]

    /// Creates a directory below `/tmp`, where this process and the programs that it starts find the router's socket.
    public init() throws {
        var template = Array("/tmp/openurl-benchmark-XXXXXX".utf8CString)
        guard let path = mkdtemp(&template) else { throw BenchmarkError("no directory: errno \(errno)") }
        let root = String(cString: path)
        self.root = root
        variables =
            ["XDG_DATA_DIRS=\(root)/none", "HOME=\(root)"]
            + ["DATA", "CONFIG", "CACHE", "STATE"].map { "XDG_\($0)_HOME=\(root)/\($0.lowercased())" }
        setenv("XDG_RUNTIME_DIR", "\(root)/run", 1)
        for part in ["run", "data", "data/openurl", "data/openurl/handlers"] { mkdir("\(root)/\(part)", 0o700) }
    }

    /// Writes a handler's manifest. Its scheme is the last part of its identifier.
    ///
    /// - Parameter times: The manifest's time limits in seconds, by their keys.
    public func addHandler(
        _ id: String,
        _ program: String,
        _ arguments: [String],
        times: [String: Double] = [:]
    ) throws {
        guard let program = realpath(program, nil) else { throw BenchmarkError("\(program): errno \(errno)") }
        defer { free(program) }
        let path = "\(root)/data/openurl/handlers/\(id).plist"
        guard let file = fopen(path, "w") else { throw BenchmarkError("\(path): errno \(errno)") }
        defer { fclose(file) }
        fputs(
            """
            <?xml version="1.0"?><plist version="1.0"><dict>
            <key>CFBundleIdentifier</key><string>\(id)</string>
            <key>CFBundleExecutable</key><string>\(String(cString: program))</string>
            <key>OUArguments</key><array>\(arguments.map { "<string>\($0)</string>" }.joined())</array>
            \(times.map { "<key>\($0)</key><real>\($1)</real>" }.joined())
            <key>CFBundleURLTypes</key><array><dict><key>CFBundleURLSchemes</key>
            <array><string>\(id.split(separator: ".").last ?? "")</string></array></dict></array>
            </dict></plist>
            """,
            file
        )
    }

    /// Starts a router and returns when it owns its name.
    public func startRouter(_ path: String, on connection: Connection) async throws -> Program {
        let (owners, continuation) = AsyncStream<BusName?>.makeStream()
        let watch = try await connection.watchName(RouterService.name) { _, new in continuation.yield(new) }
        let router = try Program(path, [], variables, log: "\(root)/openurld.log")
        for await owner in owners where owner != nil { break }
        try await connection.unwatchName(watch)
        return router
    }

    /// Removes the directory.
    public func remove() throws {
        try Program("/bin/rm", ["-rf", root]).finish()
    }
}
