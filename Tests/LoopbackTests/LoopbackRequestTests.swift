import Testing

@testable import Loopback

/// The judgement of the heads of requests.
@Suite struct LoopbackRequestTests {
    private let request = LoopbackRequest(path: "/callback", hosts: ["127.0.0.1:8000", "localhost:8000"])

    private func verdict(_ lines: String...) -> LoopbackRequest.Verdict {
        request.verdict(on: Array((lines + ["", ""]).joined(separator: "\r\n").utf8))
    }

    @Test func getOfThePathIsTheCallback() {
        #expect(
            verdict("GET /callback?code=1 HTTP/1.1", "Host: 127.0.0.1:8000") == .callback(target: "/callback?code=1")
        )
        #expect(
            verdict("GET /callback HTTP/1.0", "Accept: */*", "host:LOCALHOST:8000 ") == .callback(target: "/callback")
        )
    }

    @Test func headThatIsSlowToCompareIsRefused() {
        let marks = "a" + String(repeating: "\u{301}\u{316}", count: 8000)
        #expect(verdict("GET /callback HTTP/1.1", "Host: \(marks)") == .refused(.badRequest))
    }

    @Test func headIsWaitedFor() {
        #expect(request.verdict(on: []) == .incomplete)
        #expect(request.verdict(on: Array("GET /callback HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n".utf8)) == .incomplete)
    }

    @Test(arguments: ["Host: 127.0.0.1", "Host: attacker.example:8000", "Host: 127.0.0.1:8001", "Accept: */*", "Host:"])
    func anotherHostIsRefused(_ line: String) {
        #expect(verdict("GET /callback HTTP/1.1", line) == .refused(.misdirected))
    }

    @Test func twoHostsAreRefused() {
        let verdict = verdict("GET /callback HTTP/1.1", "Host: 127.0.0.1:8000", "Host: localhost:8000")
        #expect(verdict == .refused(.misdirected))
    }

    @Test(arguments: ["POST", "HEAD", "get", "OPTIONS"]) func onlyGetIsServed(_ method: String) {
        #expect(verdict("\(method) /callback HTTP/1.1", "Host: 127.0.0.1:8000") == .refused(.wrongMethod))
    }

    @Test(arguments: ["/", "/callback/", "/callbacks", "/x/../callback", "http://127.0.0.1:8000/callback", "*", ""])
    func onlyThePathIsServed(_ target: String) {
        #expect(verdict("GET \(target) HTTP/1.1", "Host: 127.0.0.1:8000") == .refused(.notFound))
    }

    @Test(arguments: ["GET /callback", "GET /callback HTTP/2", "GET  /callback HTTP/1.1", "hello", "GET /a b HTTP/1.1"])
    func otherLinesAreRefused(_ line: String) {
        #expect(verdict(line, "Host: 127.0.0.1:8000") == .refused(.badRequest))
    }

    @Test func bytesThatAreNotTextAreRefused() {
        let bytes = Array("GET /callback?".utf8) + [0xFF] + Array(" HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n\r\n".utf8)
        #expect(request.verdict(on: bytes) == .refused(.badRequest))
    }

    @Test func headIsBounded() {
        #expect(request.verdict(on: [UInt8](repeating: 97, count: LoopbackRequest.limit)) == .refused(.tooLarge))
        let long = String(repeating: "a", count: LoopbackRequest.limit)
        #expect(verdict("GET /callback?\(long) HTTP/1.1", "Host: 127.0.0.1:8000") == .refused(.tooLarge))
    }

    @Test(arguments: LoopbackResponse.allCases) func answersAreStaticAndOnTheirOwn(_ response: LoopbackResponse) {
        let text = String(decoding: response.bytes, as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 \(response.rawValue)\r\n"))
        #expect(text.contains("Connection: close\r\n") && text.contains("default-src 'none'"))
        #expect(text.utf8.count < 1024)
    }

    @Test func kernelsLineNamesTheUser() {
        let line: Substring =
            "   3: 0100007F:8593 0100007F:ABEE 01 00000000:00000000 00:00000000 00000000  1000        0 16887175 1"
        let local = SocketTable.End(address: [127, 0, 0, 1], port: 0x8593)
        let remote = SocketTable.End(address: [127, 0, 0, 1], port: 0xABEE)
        #expect(local.text == "0100007F:8593")
        #expect(SocketTable.user(in: line, from: local, to: remote) == 1000)
        #expect(SocketTable.user(in: line, from: remote, to: local) == nil)
        #expect(SocketTable.user(in: "  sl  local_address rem_address   st", from: local, to: remote) == nil)
        let v6 = SocketTable.End(address: [UInt8](repeating: 0, count: 15) + [1], port: 80)
        #expect(v6.text == "00000000000000000000000001000000:0050")
    }
}
