import CDBus
import Foundation
import Testing

@testable import DBus

/// Reading of corrupted messages. `DBUS_TEST_FUZZ_SECONDS=600` turns the test into a long search with a random seed.
@Suite struct FuzzTests {
    private static let seconds = ProcessInfo.processInfo.environment["DBUS_TEST_FUZZ_SECONDS"].flatMap(Int.init)

    @Test func corruptedMessagesAreReadOrRefused() {
        let seed = Self.seconds == nil ? 11 : UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let end = ContinuousClock.now + .seconds(Self.seconds ?? 0)
        var (read, refused, rounds) = (0, 0, 0)
        while rounds < 5000 || ContinuousClock.now < end {
            rounds += 1
            guard var bytes = marshalled(random.value()) else { continue }
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = CChar(truncatingIfNeeded: random.next())
            }
            // libdbus refuses invalid messages here, as it does on a connection.
            guard let changed = dbus_message_demarshal(bytes, CInt(bytes.count), nil) else {
                refused += 1
                continue
            }
            let message = Message(owning: changed)
            for limit in [64, 65_536] {
                var reader = MessageReader(message: message.pointer, limit: limit)
                do throws(MessageDecodingError) {
                    while reader.hasMore { _ = try reader.readValue() }
                    read += 1
                } catch {
                    refused += 1
                }
            }
            // Each read expects a type that the message may not hold.
            for isRead in [
                isRead(message, as: Arguments<String, [String: Value]>.self), isRead(message, as: [String].self),
                isRead(message, as: [[String: [UInt32]]].self), isRead(message, as: UInt64.self),
            ] where isRead { read += 1 }
        }
        #expect(read > 500 && refused > 500, "seed \(seed): \(read) read, \(refused) refused")
    }

    private func isRead<Body: MessageBody>(_ message: Message, as type: Body.Type) -> Bool {
        do throws(MessageDecodingError) {
            // This read bypasses the comparison of signatures, which would refuse most messages.
            var reader = MessageReader(message: message.pointer, limit: 65_536)
            _ = try Body(from: &reader)
            return true
        } catch {
            return false
        }
    }

    private func marshalled(_ value: Value) -> [CChar]? {
        let message: Message
        do throws(MessageEncodingError) {
            message = try Message(.methodCall("a.b", "C", on: RemoteObject(nil, "/"), value, limit: 65_536))
        } catch {
            return nil
        }
        dbus_message_set_serial(message.pointer, 1)
        var bytes: UnsafeMutablePointer<CChar>?
        var count: CInt = 0
        guard dbus_message_marshal(message.pointer, &bytes, &count) != 0, let bytes else { return nil }
        defer { dbus_free(bytes) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }
}
