import DBus
import Glibc
import OpenURLBus
import Reactor

/// Opens URLs while handlers are killed at random, and accounts for every one:
/// `dbus-run-session -- soak OPENURLD TESTHANDLER [URLS]`.
///
/// A URL that was opened is in its handler's log once. One that its handler died over, or took too long for, may be there,
/// once. Any other error says that no handler has seen it.
@main
struct Soak {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3 else { exit(64) }
        let count = arguments.count > 3 ? Int(arguments[3]) ?? 0 : 1_000_000
        let directory = try Directory(testHandler: arguments[2])
        defer { directory.remove() }
        let router = try directory.startRouter(arguments[1])
        let connection = try await Connection.open(on: EventLoop())
        let (owners, continuation) = AsyncStream<BusName?>.makeStream()
        _ = try await connection.watchName(RouterService.name) { _, new in continuation.yield(new) }
        continuation.yield(try await connection.owner(of: RouterService.name))
        for await owner in owners where owner != nil { break }

        let opener = Opener(connection, count: count)
        await opener.run(until: count / 100, window: 64)
        let before = try Footprint(of: router)
        let start = ContinuousClock.now
        let killer = Task { try await opener.killHandlers(every: .seconds(4)) }
        await opener.run(until: count, window: 64)
        let after = try Footprint(of: router)
        killer.cancel()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        print("\(count) URLs in \(Int(seconds)) s, \(await opener.killed) processes killed")
        for (outcome, number) in await opener.outcomes.sorted(by: { $0.key < $1.key }) {
            print("  \(outcome): \(number)")
        }
        print("router before: \(before), after: \(after)")
        kill(router, SIGTERM)
        var status: CInt = 0
        waitpid(router, &status, 0)
        let wrong = await opener.account(for: try directory.handled(count: count))
        print(wrong.isEmpty ? "every one is accounted for" : "NOT accounted for: \(wrong.prefix(10))")
        exit(wrong.isEmpty ? 0 : 1)
    }
}

/// What the router takes up.
struct Footprint: CustomStringConvertible {
    let kilobytes: Int
    let descriptors: Int

    init(of pid: pid_t) throws {
        kilobytes = Int(try text(of: "/proc/\(pid)/statm").split(separator: " ")[1]).map { $0 * 4 } ?? 0
        var descriptors = 0
        guard let directory = opendir("/proc/\(pid)/fd") else { throw SoakError(reason: "no /proc: errno \(errno)") }
        while readdir(directory) != nil { descriptors += 1 }
        closedir(directory)
        self.descriptors = descriptors - 2
    }

    var description: String { "\(kilobytes) kB, \(descriptors) descriptors" }
}

/// Opens numbered URLs, so many at a time, and remembers what became of each.
actor Opener {
    static let handlers = (0..<8).map { "com.example.soak\($0)" }

    private enum Outcome: UInt8 {
        case none, opened, uncertain, unseen
    }

    private let connection: Connection
    private var states: [UInt8]
    private var next = 0
    private(set) var outcomes: [String: Int] = [:]
    private(set) var killed = 0
    nonisolated var unownedExecutor: UnownedSerialExecutor { connection.loop.asUnownedSerialExecutor() }

    init(_ connection: Connection, count: Int) {
        self.connection = connection
        states = Array(repeating: Outcome.none.rawValue, count: count)
    }

    func run(until end: Int, window: Int) async {
        let tasks = (0..<window).map { _ in
            Task.immediate(executorPreference: connection.loop) {
                while let number = takeNumber(end) { await open(number) }
            }
        }
        for task in tasks { await task.value }
    }

    private func takeNumber(_ end: Int) -> Int? {
        guard next < end else { return nil }
        defer { next += 1 }
        return next
    }

    private func open(_ number: Int) async {
        let url = "soak\(Int.random(in: 0..<Self.handlers.count)):\(number)"
        let outcome: Outcome
        do throws(CallError) {
            let body = Arguments(url, OpenOptions())
            let result = try await connection.call(
                RouterInterface.openURL,
                on: RouterService.object,
                body,
                timeout: nil
            )
            outcome = .opened
            outcomes["opened, \(result.path.rawValue)", default: 0] += 1
        } catch {
            guard case .remote(let remote) = error, let error = OpenURLError(remote) else {
                outcomes["\(error)", default: 0] += 1
                return
            }
            outcome = error.code == .handlerCrashed || error.code == .timedOut ? .uncertain : .unseen
            outcomes[error.code.rawValue, default: 0] += 1
        }
        states[number] = outcome.rawValue
    }

    func killHandlers(every pause: Duration) async throws {
        while true {
            try await Task.sleep(for: pause)
            let all = try await connection.call(LifecycleInterface.list, on: RouterService.object, Empty())
            guard let pid = all.filter({ Self.handlers.contains($0.id) }).compactMap(\.pid).randomElement() else {
                continue
            }
            kill(pid_t(pid), SIGKILL)
            killed += 1
        }
    }

    /// - Returns: the numbers of the URLs that were handled more or less often than their outcome says.
    func account(for handled: [UInt8]) -> [String] {
        states.indices.compactMap { number in
            let times = handled[number]
            let isRight =
                switch Outcome(rawValue: states[number]) {
                case .opened: times == 1
                case .uncertain: times <= 1
                case .unseen: times == 0
                case nil, Outcome.none?: false
                }
            return isRight ? nil : "\(number): state \(states[number]), handled \(times) times"
        }
    }
}

/// The router's files, for this run only.
struct Directory {
    private let root: String
    private let environment: [String]

    init(testHandler: String) throws {
        var template = Array("/tmp/openurl-soak-XXXXXX".utf8CString)
        guard let path = mkdtemp(&template) else { throw SoakError(reason: "no directory: errno \(errno)") }
        root = String(cString: path)
        environment = ["XDG_DATA_HOME=\(root)/data", "XDG_DATA_DIRS=\(root)/none", "HOME=\(root)"]
        for part in ["data", "data/openurl", "data/openurl/handlers"] { mkdir("\(root)/\(part)", 0o700) }
        for id in Opener.handlers {
            let manifest = """
                <?xml version="1.0"?><plist version="1.0"><dict>
                <key>CFBundleIdentifier</key><string>\(id)</string>
                <key>CFBundleExecutable</key><string>\(testHandler)</string>
                <key>OUArguments</key><array><string>\(id)</string><string>\(root)/\(id).log</string></array>
                <key>OUSuspendDelay</key><real>0.2</real>
                <key>CFBundleURLTypes</key><array><dict><key>CFBundleURLSchemes</key>
                <array><string>\(id.split(separator: ".")[2])</string></array></dict></array>
                </dict></plist>
                """
            guard let file = fopen("\(root)/data/openurl/handlers/\(id).plist", "w") else {
                throw SoakError(reason: "no manifest: errno \(errno)")
            }
            fputs(manifest, file)
            fclose(file)
        }
    }

    func startRouter(_ path: String) throws -> pid_t {
        var pid: pid_t = 0
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_addopen(&actions, 2, "\(root)/openurld.log", O_WRONLY | O_CREAT, 0o600)
        var argv = [strdup(path), nil]
        var variables: [String] = environment
        var entry = environ
        while let text = entry.pointee {
            let text = String(cString: text)
            if !text.hasPrefix("XDG_") && !text.hasPrefix("HOME=") { variables.append(text) }
            entry += 1
        }
        var envp = variables.map { strdup($0) } + [nil]
        let status = posix_spawn(&pid, path, &actions, nil, &argv, &envp)
        guard status == 0 else { throw SoakError(reason: "\(path): errno \(status)") }
        return pid
    }

    /// How often each URL is in the handlers' logs.
    func handled(count: Int) throws -> [UInt8] {
        var times = [UInt8](repeating: 0, count: count)
        for id in Opener.handlers {
            guard access("\(root)/\(id).log", R_OK) == 0 else { continue }
            for line in try text(of: "\(root)/\(id).log").utf8.split(separator: UInt8(ascii: "\n")) {
                guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                    let number = Int(Substring(line[line.index(after: colon)...])), number < count
                else { continue }
                times[number] &+= 1
            }
        }
        return times
    }

    func remove() {
        var pid: pid_t = 0
        var argv = [strdup("rm"), strdup("-rf"), strdup(root), nil]
        if posix_spawn(&pid, "/bin/rm", nil, nil, &argv, environ) == 0 { waitpid(pid, nil, 0) }
    }
}

struct SoakError: Error {
    let reason: String
}

func text(of path: String) throws -> String {
    guard let file = fopen(path, "r") else { throw SoakError(reason: "\(path): errno \(errno)") }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
    return String(decoding: bytes, as: UTF8.self)
}
