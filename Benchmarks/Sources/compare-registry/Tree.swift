import DBus
import Glibc
import OpenURLBus
import Programs
import SchemeRegistry

/// A user's directories with many schemes, each in a handler's manifest and in a desktop entry.
final class Tree {
    let root: String
    private let schemes: [String]
    private static let perFile = 100

    init(schemes count: Int) throws {
        var template = Array("/tmp/compare-registry.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw BenchmarkError("no directory: errno \(errno)") }
        root = template.withUnsafeBufferPointer {
            String(decoding: $0.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        schemes = (0..<count).map { "scheme-\($0)" }
        try run("/bin/mkdir", ["-p", handlers, applications, "\(root)/cache", "\(root)/config"])
        for (number, start) in stride(from: 0, to: count, by: Self.perFile).enumerated() {
            let part = schemes[start..<min(start + Self.perFile, count)]
            try write(manifest("com.example.app\(number)", part), to: "\(handlers)/com.example.app\(number).plist")
            let types = part.map { "x-scheme-handler/\($0);" }.joined()
            try write(
                "[Desktop Entry]\nType=Application\nName=\(number)\nExec=/bin/true %u\nMimeType=\(types)\n",
                to: "\(applications)/com.example.app\(number).desktop"
            )
        }
        try run("/usr/bin/update-desktop-database", [applications])
    }

    func remove() {
        do {
            try run("/bin/rm", ["-rf", root])
        } catch {
            print(error)
        }
    }

    private var handlers: String { "\(root)/data/openurl/handlers" }
    private var applications: String { "\(root)/gio/applications" }

    /// Returns the nanoseconds of one lookup in a process that has loaded the registry.
    func lookup() throws -> Double {
        let registry = Registry(loading: RegistryDirectories(user: handlers, system: []))
        var generator = SystemRandomNumberGenerator()
        let wanted = try (0..<100_000).map { _ in try Scheme(schemes.randomElement(using: &generator) ?? "") }
        return try median(
            (0..<5).map { _ in
                var found = 0
                let start = ContinuousClock.now
                for scheme in wanted where registry.handler(for: scheme, host: nil) != nil { found += 1 }
                guard found == wanted.count else { throw BenchmarkError("a scheme is not found") }
                return milliseconds(since: start) * 1e6 / Double(wanted.count)
            }
        )
    }

    /// Returns GIO's times: milliseconds for the first lookup, microseconds for the next ones, and milliseconds to
    /// register one more scheme.
    func gio() throws -> [Double] {
        let script = #filePath.split(separator: "/").dropLast().map { "/\($0)" }.joined() + "/gio.py"
        let some = (0..<min(50, schemes.count)).map { schemes[$0 * schemes.count / min(50, schemes.count)] }
        let environment = ["XDG_DATA_HOME=\(root)/gio", "XDG_DATA_DIRS=\(root)/none", "XDG_CONFIG_HOME=\(root)/config"]
        // This may take two minutes at most.
        return try Program(
            "/usr/bin/timeout",
            ["120", "/usr/bin/python3", script, applications] + some,
            environment,
            log: "/dev/null"
        ).numbers(3)
    }

    /// Starts the router with and without its cache, and registers handlers with the last one.
    func starts(
        of router: String,
        on connection: Connection
    ) async throws -> (first: Double, next: Double, register: Double, memory: Double) {
        let environment = [
            "XDG_DATA_HOME=\(root)/data", "XDG_DATA_DIRS=\(root)/none", "XDG_CACHE_HOME=\(root)/cache",
            "XDG_CONFIG_HOME=\(root)/config", "HOME=\(root)",
        ]
        let (owners, continuation) = AsyncStream<BusName?>.makeStream()
        let watch = try await connection.watchName(RouterService.name) { _, new in continuation.yield(new) }
        var iterator = owners.makeAsyncIterator()
        var taken: [Double] = []
        var registered: [Double] = []
        var memory = 0.0
        for round in 0..<6 {
            let start = ContinuousClock.now
            let process = try Program(router, [], environment, log: "/dev/null")
            while let owner = await iterator.next(), owner == nil {}
            taken.append(milliseconds(since: start))
            // Give the router a quiet moment, so that it finds the manifests settled and keeps them in the cache.
            try await Task.sleep(for: .milliseconds(800))
            if round == 5 {
                memory = try process.residentMegabytes()
                for number in 0..<11 { registered.append(try await register(number, connection)) }
            }
            process.end()
            while let owner = await iterator.next(), owner != nil {}
        }
        try await connection.unwatchName(watch)
        return (taken[0], median(Array(taken.dropFirst())), median(registered), memory)
    }

    private func register(_ number: Int, _ connection: Connection) async throws -> Double {
        let id = "com.example.more\(number)"
        let path = "\(root)/\(id).plist"
        try write(manifest(id, ["more-\(number)"]), to: path)
        let start = ContinuousClock.now
        _ = try await connection.call(RegistryInterface.register, on: RouterService.object, path)
        return milliseconds(since: start)
    }

    private func manifest(_ id: String, _ schemes: some Sequence<String>) -> String {
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0"><dict>
        <key>CFBundleIdentifier</key><string>\(id)</string>
        <key>CFBundleExecutable</key><string>/bin/true</string>
        <key>CFBundleURLTypes</key><array><dict><key>CFBundleURLSchemes</key><array>
        \(schemes.map { "<string>\($0)</string>" }.joined(separator: "\n"))
        </array></dict></array>
        </dict></plist>
        """
    }

    private func write(_ text: String, to path: String) throws {
        guard let file = fopen(path, "w") else { throw BenchmarkError("\(path): errno \(errno)") }
        defer { fclose(file) }
        fputs(text, file)
    }

    private func run(_ program: String, _ arguments: [String]) throws {
        try Program(program, arguments, log: "/dev/null").finish()
    }
}
