import DBus
import Foundation
import OpenURLBus
import SchemeRegistry
import TestSupport
import Testing

@testable import URLRouter

/// A program whose file system does not give its file. The kernel holds an `execve` of a file with a lease until the lease ends.
@Suite(.timeLimit(.minutes(1))) struct SlowStartTests {
    private let directory = TemporaryState()

    /// Makes a program that cannot be started as long as the returned descriptor is open.
    private func leasedProgram() async throws -> (path: String, descriptor: CInt) {
        try FileManager.default.createDirectory(atPath: directory.path, withIntermediateDirectories: true)
        let path = "\(directory.path)/program"
        try FileManager.default.copyItem(atPath: "/bin/true", toPath: path)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        let (setSignal, setLease, writing): (CInt, CInt, CInt) = (10, 1024, 1)
        // The usual signal that asks for the end of the lease would end the process.
        try #require(fcntl(descriptor, setSignal, SIGURG) == 0)
        // A process that another test is starting may have the copy's descriptor until its program begins.
        let failure = try await eventually(fcntl(descriptor, setLease, writing) == 0 ? 0 : errno) { $0 != EAGAIN }
        try #require(failure == 0)
        return (path, descriptor)
    }

    @Test func startThatHangsFailsAloneAndInTime() async throws {
        let (path, descriptor) = try await leasedProgram()
        let bus = try FakeHandlers(["com.example.other": ":1.2"])
        let router = URLRouter(
            [try .test("com.example.app", program: .path(path)), try .test("com.example.other")],
            on: bus
        )
        let hanging = Task { () -> OpenURLError? in
            await failure { () throws(OpenURLError) in try await router.open("app:1") }
        }
        // Another handler gets its URL meanwhile.
        let other = Task { try await router.open("other:1") }
        await bus.wait(for: .opened("other:1", at: ":1.2"))
        bus.answer("other:1")
        _ = try await other.value
        let error = try #require(await hanging.value)
        #expect(error.code == .launchFailed)
        let reason = "the file system did not provide the file within 5 seconds"
        #expect(error.message.contains(reason), "\(error.message)")
        close(descriptor)
        // The file is there again.
        let next = await failure { () throws(OpenURLError) in try await router.open("app:2") }
        #expect(next?.message.contains("exited with status 0") == true, "\(String(describing: next))")
    }

    /// The start goes on after the cancel; its process is ended as soon as it exists.
    @Test func cancelDuringTheStartOfACommandIsAnsweredAtOnce() async throws {
        let (path, descriptor) = try await leasedProgram()
        defer { close(descriptor) }
        let handler = try Handler.test("com.example.cmd", program: .path(path)) {
            $0.command = try HandlerCommand([path, "%u"])
        }
        var limits = RouterLimits.patient
        limits.launchTimeout = .seconds(3600)
        let router = URLRouter([handler], on: try FakeHandlers([:]), limits: limits)
        var options = OpenOptions()
        options.handleToken = HandleToken(rawValue: "t")
        let calls = CancelledCalls()
        let request = Task { [options] in
            try await router.openURL("cmd:x", options, caller: ownConnection, abandon: { calls.cancel() })
        }
        calls.set(request)
        await router.wait { !$0.applications.startingCommands.isEmpty }
        try await router.cancelRequest(at: "/org/openurl/Router1/request/1_77/t", caller: ownConnection)
        let message = "the request was cancelled; com.example.cmd may already have the URL"
        await #expect(throws: OpenURLError(.cancelled, message)) { try await request.value }
    }
}
