import Foundation
import TestSupport
import Testing

@testable import DBus

/// Reading of corrupted messages. `DBUS_TEST_FUZZ_SECONDS=600` turns the test into a long search with a random seed.
@Suite struct FuzzTests {
    private static let seconds = ProcessInfo.processInfo.environment["DBUS_TEST_FUZZ_SECONDS"].flatMap(Int.init)

    /// A message that libdbus accepts is also accepted here, and each of its values can be read.
    @Test func corruptedMessagesAreReadOrRefused() throws {
        let seed = Self.seconds == nil ? 11 : UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let end = ContinuousClock.now + .seconds(Self.seconds ?? 0)
        var (read, refused, rounds) = (0, 0, 0)
        while rounds < 5000 || ContinuousClock.now < end {
            rounds += 1
            guard var bytes = writtenBytes(random.value()) else { continue }
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8(truncatingIfNeeded: random.next())
            }
            let copy = try libraryCopy(of: bytes)
            guard let message = message(bytes) else {
                #expect(copy == nil, "seed \(seed), round \(rounds): only libdbus accepts \(bytes)")
                refused += 1
                continue
            }
            for limit in [64, 65_536] {
                var reader = MessageReader(message: message, limit: limit)
                do throws(MessageDecodingError) {
                    while reader.hasMore { _ = try reader.readValue() }
                    read += 1
                } catch .tooLarge, .tooDeep {
                    refused += 1
                } catch MessageReader.missingDescriptor, MessageReader.repeatedKey {
                    // libdbus compares neither the numbers with the descriptors nor the keys with each other.
                    refused += 1
                } catch {
                    #expect(copy == nil, "seed \(seed), round \(rounds): only libdbus reads \(bytes): \(error)")
                    refused += 1
                }
            }
            // Each read expects a type that the message may not hold.
            for isRead in [
                isRead(message, as: Arguments<String, [String: Value]>.self), isRead(message, as: [String].self),
                isRead(message, as: [[String: [UInt32]]].self), isRead(message, as: UInt64.self),
            ] where isRead { read += 1 }
            #expect(isSkipped(message) || copy == nil)
        }
        #expect(read > 500 && refused > 500, "seed \(seed): \(read) read, \(refused) refused")
    }

    private func message(_ bytes: [UInt8]) -> Message? {
        do throws(MalformedMessage) {
            let message = try Message(bytes)
            return message.isValid ? message : nil
        } catch {
            return nil
        }
    }

    private func isSkipped(_ message: Message) -> Bool {
        var reader = MessageReader(message: message, limit: 65_536)
        do throws(MessageDecodingError) {
            while reader.hasMore { try reader.skip() }
            return true
        } catch .tooDeep {
            return true
        } catch {
            return false
        }
    }

    private func isRead<Body: MessageBody>(_ message: Message, as type: Body.Type) -> Bool {
        do throws(MessageDecodingError) {
            // This read bypasses the comparison of signatures, which would refuse most messages.
            var reader = MessageReader(message: message, limit: 65_536)
            _ = try Body(from: &reader)
            return true
        } catch {
            return false
        }
    }

    private func writtenBytes(_ value: Value) -> [UInt8]? {
        do throws(MessageEncodingError) {
            return try written(value, limit: 65_536).bytes
        } catch {
            return nil
        }
    }
}
