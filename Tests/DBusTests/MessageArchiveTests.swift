import Glibc
import TestSupport
import Testing

@testable import DBus

/// Message bodies that are stored as bytes, for example in a file.
@Suite struct MessageArchiveTests {
    @Test func roundTripKeepsTheBody() throws {
        let body = Arguments("a:b", ["k": Value.array([.uint32(7)], of: "u"), "e": .array([], of: "(sv)")])
        let bytes = try MessageArchive.bytes(of: body, limit: 1 << 16)
        let read: Arguments<String, [String: Value]> = try MessageArchive.body(from: bytes)
        #expect(read.values.0 == body.values.0)
        #expect(read.values.1 == body.values.1)
    }

    @Test func roundTripKeepsRandomValues() throws {
        var random = SeededGenerator(seed: 0xA7C1)
        for _ in 0..<500 {
            let value = random.value()
            let bytes: [UInt8]
            do throws(MessageEncodingError) {
                bytes = try MessageArchive.bytes(of: value, limit: 1 << 20)
            } catch {
                #expect(error == .descriptorNotPassed || refusal(of: value) != nil)
                continue
            }
            #expect(try MessageArchive.body(from: bytes) as Value == value)
        }
    }

    @Test func bodyOfAnotherTypeIsAnError() throws {
        let bytes = try MessageArchive.bytes(of: "text", limit: 1 << 16)
        #expect(throws: MessageDecodingError.wrongType(expected: "u", found: "s")) {
            try MessageArchive.body(from: bytes) as UInt32
        }
    }

    @Test func corruptedBytesGiveAnErrorOrAValue() throws {
        let bytes = try MessageArchive.bytes(of: ["k": Value.string("text")], limit: 1 << 16)
        var damaged = 0
        for index in bytes.indices {
            var changed = bytes
            changed[index] ^= 0x41
            do throws(MessageDecodingError) {
                _ = try MessageArchive.body(from: changed) as [String: Value]
            } catch {
                damaged += 1
            }
        }
        #expect(damaged > bytes.count / 2)
        for bytes in [[], [0], Array(bytes.dropLast())] {
            #expect(throws: MessageDecodingError.self) { try MessageArchive.body(from: bytes) as [String: Value] }
        }
    }

    @Test func descriptorIsRefused() throws {
        let descriptor = UnixFD(owning: dup(STDERR_FILENO))
        #expect(throws: MessageEncodingError.descriptorNotPassed) {
            try MessageArchive.bytes(of: descriptor, limit: 1 << 16)
        }
    }

    @Test func tooLargeBodyIsAnError() {
        #expect(throws: MessageEncodingError.tooLarge(limit: 4096)) {
            try MessageArchive.bytes(of: String(repeating: "x", count: 4096), limit: 4096)
        }
    }
}
