import DBus
import Dispatch
import Glibc
import OpenURLBus
import Reactor
import TestSupport
import Testing
import UserFiles

@testable import URLRouter

/// The file with the other hosts, which may change while the router runs.
@Suite(.timeLimit(.minutes(10))) struct HostStoreTests {
    private let directory: TemporaryDirectory
    private let state = TemporaryState()
    private let log = RecordedLog()

    init() throws {
        directory = try TemporaryDirectory()
    }

    private static let name = "openurl/hosts.conf"
    private var file: String { "\(directory.path)/\(Self.name)" }

    @Test func routerUsesTheHostsThatTheFileHasNow() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let bus = try FakeHandlers([:])
        let router = URLRouter([], on: bus, hosts: HostStore(path: file, on: loop, log: log.logger))
        await router.load()
        #expect(await router.configurationPaths == [file])
        #expect(await router.knownHosts(among: ["kiosk", "laptop"]) == [])
        try directory.write("laptop ssh:laptop\n", to: Self.name)
        #expect(await router.readConfiguration())
        #expect(await router.knownHosts(among: ["kiosk", "laptop"]) == ["laptop"])
        try directory.write("kiosk bridge:\n", to: Self.name)
        #expect(await router.readConfiguration())
        #expect(await router.knownHosts(among: ["kiosk", "laptop"]) == ["kiosk"])
    }

    @Test func hostsStayAsLongAsTheFileCannotBeReadForNow() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let bus = try FakeHandlers([:])
        let router = URLRouter([], on: bus, hosts: HostStore(path: file, on: loop, log: log.logger))
        try directory.write("laptop ssh:laptop\n", to: Self.name)
        await router.load()
        #expect(await router.knownHosts(among: ["laptop"]) == ["laptop"])
        #expect(unlink(file) == 0)
        // Reading the memory of this process from its start fails with the error of a device.
        try directory.link(Self.name, to: "/proc/self/mem")
        for _ in 1...2 {
            #expect(await !router.readConfiguration())
            #expect(await router.knownHosts(among: ["laptop"]) == ["laptop"])
        }
        #expect(log.lines == ["warning : the other hosts cannot be read for now: \(file): Input/output error"])
        #expect(unlink(file) == 0)
        #expect(await router.readConfiguration())
        #expect(await router.knownHosts(among: ["laptop"]) == [])
    }

    @Test func problemIsLoggedOnceUntilItIsGone() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let store = HostStore(path: file, on: loop, log: log.logger)
        let line = "warning : \(file): line 1 is not a host's name and address: laptop"
        for text in ["laptop\n", "laptop\n", "laptop ssh:laptop\n", "laptop\n"] {
            try directory.write(text, to: Self.name)
            _ = await store.read()
        }
        #expect(log.lines == [line, line])
    }

    // MARK: The URLs that wait

    /// Returns a router that delivers, and that finds programs only in the directory `bin`.
    private func router(on bus: FakeHandlers, _ loop: EventLoop) async -> URLRouter {
        let router = URLRouter(
            [],
            on: bus,
            environment: ["PATH": "\(directory.path)/bin"],
            deliveries: DeliveryStore(path: state.queue, on: state.loop, log: log.logger),
            hosts: HostStore(path: file, on: loop, log: log.logger)
        )
        await router.load()
        await router.startDeliveries()
        return router
    }

    /// Opens a URL on the host `laptop`.
    private func openThere(_ router: URLRouter) async throws {
        var options = OpenOptions()
        options.host = HostName(rawValue: "laptop")
        #expect(try await router.open("app:1", options, caller: ownConnection).handler == "host:laptop")
    }

    /// Returns why the URL is still in the queue.
    private func problem(_ router: URLRouter) async throws -> String {
        try await router.queuedURLs(caller: ownConnection).first?.error?.message ?? ""
    }

    @Test func urlIsTriedAtOnceAtANewAddress() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let bus = try FakeHandlers([:])
        try directory.write("laptop bridge:\n", to: Self.name)
        let router = await router(on: bus, loop)
        try await openThere(router)
        // The router tries no URL again until there is a bridge.
        try await eventually(await problem(router)) { $0.contains("no program is the bridge") }
        try directory.write("laptop ssh:laptop\n", to: Self.name)
        #expect(await router.readConfiguration())
        // There is no ssh.
        try await eventually(await problem(router)) { $0.contains("ssh cannot be started") }
        await router.stopDeliveries()
    }

    @Test func linkToAnEarlierAddressEnds() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let bus = try FakeHandlers([:])
        let told = try directory.write("", to: "told")
        try directory.makeDirectory("bin")
        // This ssh waits for a machine that does not answer.
        try writeProgram("#!/bin/sh\necho $$ $* >>\(told)\nexec /bin/cat\n", to: "\(directory.path)/bin/ssh")
        func starts() throws -> [[Substring]] {
            let text = String(decoding: try contents(ofFile: told, limit: 1 << 16), as: UTF8.self)
            return text.split(separator: "\n").map { $0.split(separator: " ") }
        }
        try directory.write("laptop ssh:old\n", to: Self.name)
        let router = await router(on: bus, loop)
        try await openThere(router)
        try await eventually(starts().count) { $0 == 1 }
        try directory.write("laptop ssh:new\n", to: Self.name)
        #expect(await router.readConfiguration())
        let all = try await eventually(starts()) { $0.count == 2 }
        let commands = all.map { $0.suffix(4).joined(separator: " ") }
        #expect(commands == ["-- old openurl receive", "-- new openurl receive"])
        let pid = try #require(all[0].first.flatMap { pid_t($0) })
        try await eventually(kill(pid, 0)) { $0 != 0 }
        await router.stopDeliveries()
    }

    /// The caller has other files to read.
    @Test func readingDoesNotWaitForTheDiskOfTheQueue() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let disk = DispatchSemaphore(value: 0)
        defer { disk.signal() }
        let bus = try FakeHandlers([:])
        let router = await router(on: bus, loop)
        state.loop.execute { disk.wait() }
        try directory.write("laptop ssh:laptop\n", to: Self.name)
        let isComplete = Lock<Bool?>(nil)
        let reading = Task {
            let result = await router.readConfiguration()
            isComplete.withLock { $0 = result }
        }
        try await eventually(isComplete.withLock { $0 }) { $0 == true }
        disk.signal()
        await reading.value
        await router.stopDeliveries()
    }
}

extension URLRouter {
    /// Returns those of the names that are names of hosts.
    fileprivate func knownHosts(among names: [String]) -> [String] {
        names.filter { HostName(rawValue: $0).map(hosts.isKnown) == true }
    }
}
