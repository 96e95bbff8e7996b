import DBus
import Testing

@testable import OpenURLBus

/// The names of other hosts, and the messages between their routers.
@Suite struct HostMessageTests {
    @Test(arguments: [
        ("laptop", "laptop"), ("Laptop-2.example", "laptop-2.example"), ("@kiosks", "@kiosks"), ("9", "9"),
    ])
    func nameIsKeptInLowerCase(_ text: String, _ name: String) {
        #expect(HostName(rawValue: text)?.rawValue == name)
        #expect(HostName(rawValue: text)?.isGroup == text.hasPrefix("@"))
    }

    /// None of these may get into a topic of MQTT, an argument of ssh or a rule of the policy.
    @Test(arguments: [
        "", "@", "-oProxyCommand=x", "_x", "a/b", "a+", "#", "$share", "a b", "é", "@@a", "a\n", "a\0",
        String(repeating: "a", count: 65),
    ])
    func textIsNoName(_ text: String) {
        #expect(HostName(rawValue: text) == nil)
    }

    private func request(_ url: String) -> HostRequest {
        var options = OpenOptions()
        options.annotation = .string("x")
        options.lifetime = .seconds(5)
        var request = HostRequest(id: "store.1.0.0", url, options)
        request.hops = 3
        return request
    }

    @Test func messagesArriveInPieces() throws {
        let messages = (1...3).map { HostFrames.Request(UInt32($0), 77, request("app:\($0)")) }
        let bytes = try messages.flatMap { message throws in try HostFrames.bytes(of: message) }
        for size in [1, 3, 100, bytes.count] {
            var input = HostFrames.Input()
            var arrived: [HostFrames.Request] = []
            for start in stride(from: 0, to: bytes.count, by: size) {
                input.append(bytes[start..<min(start + size, bytes.count)])
                while let message = try input.next(HostFrames.Request.self) { arrived.append(message) }
            }
            #expect(arrived.map(\.values.0) == [1, 2, 3])
            #expect(arrived.map(\.values.2) == messages.map(\.values.2))
        }
    }

    @Test func tooLongMessageIsRefusedBeforeItHasArrived() {
        var input = HostFrames.Input()
        input.append([0xFF, 0xFF, 0xFF, 0x7F])
        #expect(throws: MessageDecodingError.self) { try input.next(HostFrames.Request.self) }
    }

    /// Each element of an array takes many times the memory of its one byte.
    @Test func valuesThatTakeTooMuchMemoryAreRefused() throws {
        var input = HostFrames.Input()
        var request = request("app:1")
        request.options.annotation = .array(Array(repeating: .byte(0), count: 100_000), of: "y")
        input.append(try HostFrames.bytes(of: HostFrames.Request(1, 0, request)))
        #expect(throws: MessageDecodingError.tooLarge(limit: HostFrames.limit)) {
            try input.next(HostFrames.Request.self)
        }
    }

    /// A login shell may print a greeting before the command runs.
    @Test func wordsOfAShellAreNoMessage() {
        for text in ["Welcome!\n", "\u{1}\0\0\0x"] {
            var input = HostFrames.Input()
            input.append(Array(text.utf8))
            #expect(throws: MessageDecodingError.self) { try input.next(HostFrames.Hello.self) }
        }
    }

    @Test func requestWithoutANameIsNoRequest() {
        for id in ["", " ", "a b", String(repeating: "a", count: 129), "é"] {
            #expect(!HostRequest(id: id, "app:1", OpenOptions()).isNamed)
        }
        #expect(request("app:1").isNamed)
    }

    @Test func optionsForAnotherHostExcludeWhatItCannotDo() throws {
        var options = OpenOptions()
        options.host = HostName(rawValue: "laptop")
        #expect(options.isQueued)
        try options.validate()
        options.fallback = ["app:2"]
        #expect(throws: MessageDecodingError.self) { try options.validate() }
        options.fallback = []
        options.notification = "text"
        #expect(throws: MessageDecodingError.self) { try options.validate() }
        var repeated = OpenOptions()
        repeated.lifetime = .seconds(1)
        repeated.deliveryTime = DeliveryTime(rawValue: "2030-01-01T09:00:00")
        try repeated.validate()
        repeated.repeatInterval = .day
        #expect(throws: MessageDecodingError.self) { try repeated.validate() }
    }
}
