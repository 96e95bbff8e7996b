import Foundation
import Loopback
import RFC1808
import Reactor
import Testing

@testable import OpenURL

@Suite(.timeLimit(.minutes(5))) struct LoopbackWaitTests {
    @Test(arguments: [
        "https://127.0.0.1/a", "http://example.com/a", "http://192.168.0.1/a", "myapp://127.0.0.1/a",
        "http://me@127.0.0.1/a", "http://127.0.0.1/a#b",
    ])
    func onlyThisMachineIsServed(_ address: String) throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        #expect(throws: LoopbackError.self) { try LoopbackWait(GenericURL(address), state: nil, on: loop) }
    }

    @Test(arguments: ["http://127.0.0.1/a", "http://[::1]/a", "http://localhost/a", "http://LOCALHOST/a"])
    func addressHasAPort(_ address: String) async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let wait = try LoopbackWait(GenericURL(address), state: nil, on: loop)
        let redirect = await wait.redirect
        #expect(redirect.port != nil && redirect.path == "/a")
    }

    @Test func stopEndsTheCallbacks() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let wait = try LoopbackWait(GenericURL("http://127.0.0.1/a"), state: nil, on: loop)
        await wait.start()
        await wait.stop()
        await wait.stop()
        #expect(await wait.callbacks.first { _ in true } == nil)
    }

    /// Two sign-ins may wait at once.
    @Test func eachServerHasAPortOfItsOwn() async throws {
        let loop = try EventLoop()
        defer { loop.stop() }
        let waits = try (0..<4).map { _ in try LoopbackWait(GenericURL("http://127.0.0.1/a"), state: nil, on: loop) }
        var ports: Set<UInt16?> = []
        for wait in waits { ports.insert(await wait.redirect.port) }
        #expect(ports.count == 4)
    }
}
