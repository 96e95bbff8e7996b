import Glibc
import Logging
import Reactor
import TestSupport
import Testing
import UserFiles

@testable import SchemeRegistry

/// A read of an empty pipe stands for a file system that does not answer.
@Suite(.timeLimit(.minutes(5))) struct PatientReaderTests {
    private let reader = PatientReader(patience: .seconds(1))

    @Test func pathThatDoesNotAnswerIsLeftOut() async throws {
        var pipe: [CInt] = [-1, -1]
        try #require(Glibc.pipe(&pipe) == 0)
        defer { for end in pipe { close(end) } }
        let silent = pipe[0]
        let read = reader.read("/start") { leftOut, progress in
            progress("/silent")
            if !leftOut.contains("/silent") { wait(for: silent) }
            progress("/other")
            return leftOut
        }
        #expect(read == ["/silent"])
        // The thread still waits, so nothing tries the path.
        #expect(reader.read("/silent") { _, _ in true } == nil)
        #expect(reader.read("/start") { leftOut, _ in leftOut } == ["/silent"])
        #expect(write(pipe[1], "x", 1) == 1)
        try await eventually(reader.read("/start") { leftOut, _ in leftOut }) { $0 == [] }
        #expect(reader.read("/silent") { _, _ in true } == true)
    }

    @Test func firstPathThatDoesNotAnswerEndsTheReading() throws {
        var pipe: [CInt] = [-1, -1]
        try #require(Glibc.pipe(&pipe) == 0)
        defer {
            close(pipe[1])
            close(pipe[0])
        }
        let silent = pipe[0]
        #expect(reader.read("/start") { _, _ in wait(for: silent) } == nil)
        #expect(write(pipe[1], "x", 1) == 1)
    }

    /// Makes the reader leave out a path until the pipe has a byte.
    private func silence(_ path: String) throws -> [CInt] {
        var pipe: [CInt] = [-1, -1]
        try #require(Glibc.pipe(&pipe) == 0)
        let silent = pipe[0]
        #expect(reader.read(path) { _, _ in wait(for: silent) } == nil)
        return pipe
    }

    /// A directory of handlers, and an entry in it.
    private static let names = ["user", "user/com.acme.app.plist"]

    @Test(arguments: names) func loaderIsStaleAsLongAsAPathIsSilent(_ name: String) async throws {
        let root = try TemporaryDirectory()
        try root.write(try manifest("com.acme.app").encoded(), to: "user/com.acme.app.plist")
        let path = "\(root.path)/\(name)"
        let pipe = try silence(path)
        defer { for end in pipe { close(end) } }
        var loader = RegistryLoader(RegistryDirectories(user: "\(root.path)/user", system: []))
        loader.reader = DirectoryReader(reader)
        _ = loader.update()
        #expect(loader.isStale && loader.registry.handlers.isEmpty)
        let problems = loader.registry.diagnostics.map(\.description)
        #expect(problems == ["\(path): is on a file system that is not responding"])
        #expect(write(pipe[1], "x", 1) == 1)
        try await eventually(reader.read(path) { _, _ in true }) { $0 == true }
        _ = loader.update()
        #expect(!loader.isStale && loader.registry.handlers.count == 1 && loader.registry.diagnostics.isEmpty)
        withExtendedLifetime(root) {}
    }

    @Test(arguments: names) func storeReadsAgainAsLongAsAPathIsSilent(_ name: String) async throws {
        let root = try TemporaryDirectory()
        try root.write(try manifest("com.acme.app").encoded(), to: "user/com.acme.app.plist")
        let pipe = try silence("\(root.path)/\(name)")
        defer { for end in pipe { close(end) } }
        let loop = try EventLoop()
        defer { loop.stop() }
        let store = RegistryStore(
            RegistryDirectories(user: "\(root.path)/user", system: []),
            desktop: root.desktop(),
            command: nil,
            cache: nil,
            pause: RetryPause(first: .milliseconds(20), longest: .milliseconds(100)),
            directoryReader: reader,
            on: loop,
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        #expect(await store.load().handlers.isEmpty)
        let (readings, reading) = AsyncStream.makeStream(of: Int.self)
        let (snapshots, snapshot) = AsyncStream.makeStream(of: RegistrySnapshot.self)
        let count = Lock(0)
        await store.watch([]) {
            let number = count.withLock { count in
                count += 1
                return count
            }
            reading.yield(number)
            return true
        }
        await store.follow { snapshot.yield($0) }
        // Nothing changes, so nothing else makes the store read so often.
        try await readings.next { $0 == 5 }
        #expect(write(pipe[1], "x", 1) == 1)
        try await snapshots.next { $0.registry.handlers.count == 1 }
        withExtendedLifetime(root) {}
    }
}

/// Blocks until the pipe has a byte, and takes the byte.
private func wait(for pipe: CInt) {
    var byte: UInt8 = 0
    _ = read(pipe, &byte, 1)
}
