import DBus
import Foundation
import Glibc
import OpenURLBus
import PrivateBus
import Reactor
import TestSupport
import Testing

/// `openurl receive`, as another router or a hostile host speaks to it.
@Suite(.timeLimit(.minutes(10))) struct ReceiveCommandTests {
    private static let app = "com.example.app"

    private func router(_ arguments: [String] = []) async throws -> RouterProcess {
        try await RouterProcess([Self.app: arguments]) { directory in
            let folder = directory.appending(path: "XDG_CONFIG_HOME/openurl")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data("allow app from host:desktop\n".utf8).write(to: folder.appending(path: "policy.conf"))
        }
    }

    /// A running `openurl receive`.
    private final class Receiver {
        let process = ChildProcess()
        private let requests = Pipe()
        private let outcomes = Pipe()
        /// This process's own end for writing outcomes, until ``startReading()``.
        private let writer: CInt
        private let errors: URL
        private let loop: EventLoop
        private let exits: AsyncStream<Int32>
        private var chunks: AsyncStream<Data>.Iterator
        private var input = HostFrames.Input()

        private let arrived: AsyncStream<Data>.Continuation

        /// - Parameter reads: whether to read the outcomes from the start, or only after ``startReading()``.
        init(_ router: RouterProcess, from name: String? = "desktop", reads: Bool = true) throws {
            errors = router.bus.directory.appending(path: "receive-\(UUID().uuidString).log")
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments =
                ["timeout", "--signal=KILL", "120", RouterProcess.command.path, "receive"]
                + (name.map { ["--from", $0] } ?? [])
            process.environment = router.bus.environment
            process.standardInput = requests
            process.standardOutput = outcomes
            try Data().write(to: errors)
            process.standardError = try FileHandle(forWritingTo: errors)
            let (data, arrived) = AsyncStream<Data>.makeStream()
            chunks = data.makeAsyncIterator()
            loop = try EventLoop()
            self.arrived = arrived
            let (statuses, ended) = AsyncStream<Int32>.makeStream()
            exits = statuses
            process.terminationHandler = { ended.yield($0.terminationStatus) }
            writer = fcntl(outcomes.fileHandleForWriting.fileDescriptor, F_DUPFD_CLOEXEC, 3)
            try #require(writer >= 0)
            try process.run()
            if reads { try startReading() }
        }

        /// Whether neither pipe takes anything, before ``startReading()``.
        var isStuck: Bool {
            [requests.fileHandleForWriting.fileDescriptor, writer].allSatisfy { descriptor in
                var end = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                return poll(&end, 1, 0) == 0
            }
        }

        func startReading() throws {
            close(writer)
            let (loop, arrived, reader) = (loop, arrived, outcomes.fileHandleForReading)
            // libdispatch may still expect events of a descriptor that a readabilityHandler has been taken from, and crash.
            loop.execute {
                var watch: DescriptorWatch?
                watch = loop.watch(reader.fileDescriptor, for: .readable) { _ in
                    var bytes = [UInt8](repeating: 0, count: 1 << 16)
                    // The descriptor stays open as long as it is watched.
                    let count = read(reader.fileDescriptor, &bytes, bytes.count)
                    if count > 0 {
                        arrived.yield(Data(bytes[..<count]))
                    } else {
                        watch?.cancel()
                        arrived.finish()
                    }
                }
            }
        }

        /// Sends bytes in a thread, which may have to wait for the command.
        func sendInBackground(_ bytes: [UInt8]) {
            let handle = requests.fileHandleForWriting
            Thread.detachNewThread {
                do {
                    try handle.write(contentsOf: Data(bytes))
                } catch {
                    Issue.record(error)
                }
            }
        }

        func send(_ bytes: [UInt8]) throws { try requests.fileHandleForWriting.write(contentsOf: Data(bytes)) }

        func send(_ number: UInt32, _ request: HostRequest, deadline: UInt64 = 0) throws {
            try send(try HostFrames.bytes(of: HostFrames.Request(number, deadline, request)))
        }

        func next<Body: MessageBody>(_ type: Body.Type) async throws -> Body {
            while true {
                if let body = try input.next(type) { return body }
                let data = await chunks.next(isolation: #isolation)
                let text = try String(contentsOf: errors, encoding: .utf8)
                input.append(try #require(data, "the command has ended: \(text)"))
            }
        }

        func outcome() async throws -> (UInt32, OpenOutcome) { try await next(HostFrames.Answer.self).values }

        /// Ends the input, and returns the exit status.
        func end() async throws -> Int32 {
            try requests.fileHandleForWriting.close()
            for await status in exits { return status }
            throw CancellationError()
        }
    }

    private func request(_ url: String, id: String? = nil) -> HostRequest {
        HostRequest(id: id ?? "store.\(url)", url, OpenOptions())
    }

    private func opened(_ router: RouterProcess) throws -> [String] {
        try router.log(of: Self.app).filter { $0.hasPrefix("open ") }
    }

    /// If nobody takes the outcomes, the command takes no more requests, and goes on when somebody does.
    @Test func outcomesWaitForAReader() async throws {
        let router = try await router()
        defer { router.stop() }
        let receiver = try Receiver(router, reads: false)
        // Their outcomes take 350 kB, and the command and the pipe have room for 320 KiB.
        let count: UInt32 = 3000
        var bytes: [UInt8] = []
        for number in 1...count {
            bytes += try HostFrames.bytes(of: HostFrames.Request(number, 0, request("no:\(number)")))
        }
        receiver.sendInBackground(bytes)
        try await eventually(receiver.isStuck) { $0 }
        try receiver.startReading()
        _ = try await receiver.next(HostFrames.Hello.self)
        for _ in 1...count {
            guard case (_, .failed) = try await receiver.outcome() else {
                Issue.record("a URL without a handler was opened")
                return
            }
        }
        #expect(try await receiver.end() == 0)
    }

    @Test func repeatedRequestGetsTheOutcomeOfTheFirst() async throws {
        let router = try await router()
        defer { router.stop() }
        var pids: [Value?] = []
        for _ in 1...2 {
            let receiver = try Receiver(router)
            let (name, clock) = try await receiver.next(HostFrames.Hello.self).values
            #expect(name == HostFrames.protocolName && clock > 0)
            for number: UInt32 in 1...3 {
                try receiver.send(number, request("app:1"))
                let (answered, outcome) = try await receiver.outcome()
                guard case .opened(let result) = outcome else {
                    Issue.record("\(outcome)")
                    return
                }
                #expect(answered == number)
                pids.append(result.reply["pid"])
            }
            #expect(try await receiver.end() == 0)
        }
        #expect(Set(pids).count == 1)
        #expect(try opened(router) == ["open app:1"])
    }

    @Test func requestsAreAnsweredTogether() async throws {
        let router = try await router()
        defer { router.stop() }
        let receiver = try Receiver(router)
        _ = try await receiver.next(HostFrames.Hello.self)
        for number: UInt32 in 1...100 { try receiver.send(number, request("app:\(number)")) }
        var answered: Set<UInt32> = []
        for _ in 1...100 { answered.insert(try await receiver.outcome().0) }
        #expect(answered == Set(1...100))
        #expect(try opened(router) == (1...100).map { "open app:\($0)" })
        #expect(try await receiver.end() == 0)
    }

    /// A reply that is too large for a message must not end the session of the others.
    @Test func largeReplyIsLeftOut() async throws {
        let router = try await router(["long-reply=1060000"])
        defer { router.stop() }
        let receiver = try Receiver(router)
        _ = try await receiver.next(HostFrames.Hello.self)
        for number: UInt32 in 1...2 {
            try receiver.send(number, request("app:\(number)"))
            guard case (number, .opened(let result)) = try await receiver.outcome() else {
                Issue.record("the URL was not opened")
                return
            }
            #expect(result.handler == Self.app && result.reply.isEmpty)
            #expect(result.trace.map(\.name) == ["replyOmitted"])
        }
        #expect(try await receiver.end() == 0)
    }

    @Test func expiredRequestIsNotTaken() async throws {
        let router = try await router()
        defer { router.stop() }
        let receiver = try Receiver(router)
        let clock = try await receiver.next(HostFrames.Hello.self).values.1
        try receiver.send(1, request("app:late"), deadline: clock)
        guard case .failed(let error) = try await receiver.outcome().1 else {
            Issue.record("the URL was opened")
            return
        }
        // An earlier request may have brought the URL, so this is no outcome.
        #expect(OpenURLError(error) == nil && error.message.contains("expired"), "\(error)")
        try receiver.send(2, request("app:next"), deadline: clock + 600_000)
        _ = try await receiver.outcome()
        #expect(try opened(router) == ["open app:next"])
        #expect(try await receiver.end() == 0)
    }

    /// A host must not get the outcome of a request that it has not made.
    @Test func anotherHostHasItsOwnNames() async throws {
        let router = try await router()
        defer { router.stop() }
        let first = try Receiver(router)
        _ = try await first.next(HostFrames.Hello.self)
        try first.send(1, request("app:1"))
        _ = try await first.outcome()
        for name in ["laptop", nil] {
            let second = try Receiver(router, from: name)
            _ = try await second.next(HostFrames.Hello.self)
            try second.send(1, request("app:1"))
            guard case .failed(let error) = try await second.outcome().1 else {
                Issue.record("\(name ?? "nobody") got an outcome")
                return
            }
            #expect(OpenURLError(error)?.code == .notAllowed)
            #expect(try await second.end() == 0)
        }
        // One name stands for one request.
        try first.send(2, request("app:2", id: "store.app:1"))
        guard case .failed(let error) = try await first.outcome().1 else {
            Issue.record("two requests had one name")
            return
        }
        // The file's path has the user's name.
        #expect(OpenURLError(error) == nil && error.message == "this router cannot use its queue now", "\(error)")
        #expect(try opened(router) == ["open app:1"])
        #expect(try await first.end() == 0)
    }

    @Test(arguments: [
        Array("GET / HTTP/1.0\r\n\r\n".utf8), [0xFF, 0xFF, 0xFF, 0xFF], [4, 0, 0, 0, 1, 2, 3, 4],
        [UInt8](repeating: 0, count: 64),
    ])
    func somethingElseEndsTheSession(_ bytes: [UInt8]) async throws {
        let router = try await router()
        defer { router.stop() }
        let receiver = try Receiver(router)
        _ = try await receiver.next(HostFrames.Hello.self)
        try receiver.send(bytes)
        #expect(try await receiver.end() == 1)
        #expect(try opened(router).isEmpty)
    }

    @Test func requestThatCannotBeNamedIsRefused() async throws {
        let router = try await router()
        defer { router.stop() }
        let receiver = try Receiver(router)
        _ = try await receiver.next(HostFrames.Hello.self)
        for (number, id) in ["", "a b", String(repeating: "x", count: 200)].enumerated() {
            try receiver.send(UInt32(number), request("app:1", id: id))
            guard case .failed = try await receiver.outcome().1 else {
                Issue.record("a request had the name '\(id)'")
                return
            }
        }
        var circle = request("app:circle")
        circle.hops = 8
        try receiver.send(9, circle)
        guard case .failed(let error) = try await receiver.outcome().1 else {
            Issue.record("the circle was not noticed")
            return
        }
        #expect(OpenURLError(error)?.code == .loopDetected)
        #expect(try opened(router).isEmpty)
        #expect(try await receiver.end() == 0)
    }

    @Test func namesOfGroupsAndWordsAreRefused() async throws {
        let router = try await router()
        defer { router.stop() }
        for name in ["@all", "a/b", "", "host name"] {
            let receiver = try Receiver(router, from: name)
            #expect(try await receiver.end() == 64)
        }
    }
}
