import DBus
import Glibc
import OpenURL
import OpenURLBus
import Programs
import Reactor

/// Opens URLs while handlers are killed or made sick at random, and accounts for every URL and for every process that
/// the router has killed. Usage: `dbus-run-session -- soak OPENURLD TESTHANDLER [URLS]`.
///
/// If a URL was opened, it appears exactly once in its handler's log. If its handler died or took too long, it appears
/// at most once. After any other error it does not appear. The router must kill only sick processes: those in which a
/// method hangs, or whose background task does not end.
@main
struct Soak {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count >= 3 else { exit(64) }
        let count = arguments.count > 3 ? Int(arguments[3]) ?? 0 : 1_000_000
        let directory = try RouterDirectory()
        for id in Opener.handlers {
            try directory.addHandler(
                id,
                arguments[2],
                [id, "\(directory.root)/\(id).log", "faults", "task-url"],
                times: [
                    "OUSuspendDelay": 0.2, "OULaunchTimeout": 2, "OUTransitionTimeout": 1, "OUOpenTimeout": 2,
                    "OUBackgroundTime": 2,
                ]
            )
        }
        let connection = try await Connection.open(on: EventLoop())
        let router = try await directory.startRouter(arguments[1], on: connection)

        let opener = Opener(connection, try await OpenURLClient(), count: count)
        await opener.run(until: count / 100, window: 64)
        let before = try Footprint(of: router)
        let start = ContinuousClock.now
        let killer = Task { try await opener.killHandlers(every: .seconds(4)) }
        let root = directory.root
        let saboteur = Task { try await makeHandlersSick(in: root, every: .seconds(7)) }
        await opener.run(until: count, window: 64)
        let after = try Footprint(of: router)
        killer.cancel()
        saboteur.cancel()
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        print("\(count) URLs in \(Int(seconds)) s, \(await opener.killed) processes killed")
        for (outcome, number) in await opener.outcomes.sorted(by: { $0.key < $1.key }) {
            print("  \(outcome): \(number)")
        }
        print("router before: \(before), after: \(after)")
        router.end()
        let (faults, killed, healthy) = try directory.killedProcesses()
        print("sick: \(faults.sorted { $0.key < $1.key }.map { "\($0) \($1)" }.joined(separator: ", "))")
        print("killed by the router: \(killed), of them healthy: \(healthy.count)")
        let wrong = await opener.account(for: try directory.handled(count: count)) + healthy
        if wrong.isEmpty { try directory.remove() }
        print(wrong.isEmpty ? "every one is accounted for" : "NOT accounted for: \(wrong.prefix(10))")
        exit(wrong.isEmpty ? 0 : 1)
    }
}

/// Again and again, makes one method of one handler hang the next time, or makes its next background task endless.
func makeHandlersSick(in root: String, every pause: Duration) async throws {
    let faults = [
        "willFinishLaunching", "didFinishLaunching", "open", "didBecomeActive", "willResignActive",
        "didEnterBackground",
        "willEnterForeground", "willTerminate", "task",
    ]
    while true {
        try await Task.sleep(for: pause)
        guard let id = Opener.handlers.randomElement(), let fault = faults.randomElement(),
            let file = fopen("\(root)/fault", "w")
        else { continue }
        fputs(fault, file)
        fclose(file)
        rename("\(root)/fault", "\(root)/\(id).log.fault")
    }
}

/// The router's memory and descriptors.
struct Footprint: CustomStringConvertible {
    let megabytes: Double
    let descriptors: Int

    init(of router: Program) throws {
        megabytes = try router.residentMegabytes()
        var descriptors = 0
        let path = "/proc/\(router.pid)/fd"
        guard let directory = opendir(path) else { throw BenchmarkError("\(path): errno \(errno)") }
        while readdir(directory) != nil { descriptors += 1 }
        closedir(directory)
        self.descriptors = descriptors - 2
    }

    var description: String { "\((megabytes * 10).rounded() / 10) MB, \(descriptors) descriptors" }
}

/// Opens numbered URLs, a fixed number at a time, and records the outcome of each.
actor Opener {
    static let handlers = (0..<8).map { "com.example.soak\($0)" }

    private enum Outcome: UInt8 {
        case none, opened, uncertain, unseen
    }

    private let connection: Connection
    /// Opens every other URL, over the router's own socket.
    private let client: OpenURLClient
    private var states: [UInt8]
    private var next = 0
    private(set) var outcomes: [String: Int] = [:]
    private(set) var killed = 0
    nonisolated var unownedExecutor: UnownedSerialExecutor { connection.loop.asUnownedSerialExecutor() }

    init(_ connection: Connection, _ client: OpenURLClient, count: Int) {
        self.connection = connection
        self.client = client
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
        do {
            let result = number.isMultiple(of: 2) ? try await openOnBus(url) : try await client.open(url)
            outcome = .opened
            outcomes["opened, \(result.way.rawValue)", default: 0] += 1
        } catch OpenURLClientError.notOpened(let error) {
            outcome = error.code == .handlerCrashed || error.code == .timedOut ? .uncertain : .unseen
            outcomes[error.code.rawValue, default: 0] += 1
        } catch {
            outcomes["\(error)", default: 0] += 1
            return
        }
        states[number] = outcome.rawValue
    }

    private func openOnBus(_ url: String) async throws -> OpenResult {
        do throws(CallError) {
            let body = SentURL(url)
            return try await connection.call(RouterInterface.openURL, on: RouterService.object, body, timeout: nil)
        } catch {
            guard case .remote(let remote) = error, let error = OpenURLError(remote) else { throw error }
            throw OpenURLClientError.notOpened(error)
        }
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

    /// - Returns: The URLs that were handled more or less often than their outcome says.
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

extension RouterDirectory {
    /// Compares the processes that the router has killed with those that were sick.
    ///
    /// - Returns: The number of sick processes for each fault, the number of processes that the router has killed, and a
    ///   sentence for each healthy one.
    func killedProcesses() throws -> (faults: [String: Int], killed: Int, healthy: [String]) {
        var sick: [Substring: Substring] = [:]
        for id in Opener.handlers where access("\(root)/\(id).log", R_OK) == 0 {
            for line in try contents(of: "\(root)/\(id).log").split(separator: "\n") where line.hasPrefix("sick ") {
                let words = line.split(separator: " ")
                sick[words[1]] = words[2]
            }
        }
        let killed = try contents(of: "\(root)/openurld.log").split(separator: "\n").filter { $0.hasSuffix(" killed") }
            .compactMap { line in line.split(separator: " ").first { $0.hasPrefix("pid=") }?.dropFirst(4) }
        let healthy = killed.filter { sick[$0] == nil }.map { "\($0): killed, and was healthy" }
        return (Dictionary(grouping: sick.values) { "\($0)" }.mapValues(\.count), killed.count, healthy)
    }

    /// Counts how often each URL appears in the handlers' logs.
    func handled(count: Int) throws -> [UInt8] {
        var times = [UInt8](repeating: 0, count: count)
        for id in Opener.handlers {
            guard access("\(root)/\(id).log", R_OK) == 0 else { continue }
            for line in try contents(of: "\(root)/\(id).log").utf8.split(separator: UInt8(ascii: "\n")) {
                guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                    let number = Int(Substring(line[line.index(after: colon)...])), number < count
                else { continue }
                times[number] &+= 1
            }
        }
        return times
    }
}
