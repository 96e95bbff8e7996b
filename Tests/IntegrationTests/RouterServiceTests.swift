import Foundation
import PrivateBus
import Testing

/// The router as a service of systemd, and its handlers without systemd, with real processes.
@Suite(.timeLimit(.minutes(10))) struct RouterServiceTests {
    @Test func handlerOfASessionWithoutDisplayGetsThatOfTheCommand() async throws {
        let router = try await RouterProcess(["com.example.shown": [], "com.example.next": []])
        defer { router.stop() }
        let command = RouterProcess.command.path
        let shown = try await router.run("DISPLAY=:9", "SECRET=1", command, "--json", "shown:1")
        #expect(shown.status == 0, "\(shown.errors)")
        #expect(shown.output.contains(#""DISPLAY=:9""#), "\(shown.output)")
        #expect(!shown.output.contains("SECRET"))
        // The display belongs to the launch that the caller asked for, and to no later one.
        let next = try await router.openurl("--json", "next:1")
        #expect(next.status == 0 && !next.output.contains("DISPLAY="), "\(next.output)\(next.errors)")
    }

    @Test func serviceManagerHearsOfTheEnd() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "notify-\(UUID().uuidString)").path
        let descriptor = try Self.datagramSocket(path)
        defer {
            close(descriptor)
            unlink(path)
        }
        let router = try await RouterProcess(wrapper: ["/usr/bin/env", "NOTIFY_SOCKET=\(path)"])
        defer { router.stop() }
        #expect(await router.terminate() == 0)
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = recv(descriptor, &bytes, bytes.count, CInt(MSG_DONTWAIT))
        #expect(String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self) == "STOPPING=1")
    }

    @Test func linesForJournaldHaveAPriorityAndNoTime() async throws {
        let script = #"JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec "$0""#
        let router = try await RouterProcess(["com.example.loud": ["exit=3"]], wrapper: ["/bin/sh", "-c", script])
        defer { router.stop() }
        #expect(try await router.openurl("loud:1").status == 4)
        #expect(await router.terminate() == 0)
        let log = try String(contentsOf: router.bus.directory.appending(path: "openurld.log"), encoding: .utf8)
        let lines = log.split(separator: "\n")
        #expect(lines.allSatisfy { $0.wholeMatch(of: /<[2-7]>[^<].*/) != nil }, "\(log)")
        let warning = "<4>handler=com.example.loud com.example.loud exited with status 3 before it was ready"
        #expect(lines.contains { $0.hasPrefix(warning) }, "\(log)")
        #expect(!log.contains("\(Calendar.current.component(.year, from: .now))-"), "\(log)")
    }

    /// Otherwise, a socket of the router would get what is written to the stream.
    @Test func closedStreamGetsNoOtherFile() async throws {
        let router = try await RouterProcess(wrapper: ["/bin/sh", "-c", #"exec "$0" <&- >&- 2>&-"#])
        defer { router.stop() }
        for stream in 0...2 {
            let file = "/proc/\(router.pid)/fd/\(stream)"
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: file) == "/dev/null")
        }
    }

    private static func datagramSocket(_ path: String) throws -> CInt {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        try #require(isBound)
        return descriptor
    }
}
