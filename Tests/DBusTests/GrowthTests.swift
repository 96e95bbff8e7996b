import DBus
import Foundation
import Testing

/// What many calls leave behind. `DBUS_TEST_CALLS=100000` makes them many; a few thousand is what every run makes.
@Suite(.serialized) struct GrowthTests {
    private static let calls = ProcessInfo.processInfo.environment["DBUS_TEST_CALLS"].flatMap(Int.init) ?? 4000

    @Test func callsLeaveNeitherDescriptorsNorMemoryBehind() async {
        // In a child, where nobody else opens descriptors or takes memory.
        await #expect(processExitsWith: .success) {
            try await withPair { (pair: Pair) async throws in
                let pipe = try Pipe()
                func round(_ count: Int) async throws {
                    for number in 0..<count {
                        #expect(try await pair.client.call(Echo.string, on: Echo.object, "\(number)") == "\(number)")
                        if number % 16 == 0 {
                            _ = try await pair.client.call(Echo.descriptor, on: Echo.object, pipe.writeEnd)
                            let hanging = Task {
                                try await pair.client.call(
                                    Echo.never,
                                    on: Echo.object,
                                    Empty(),
                                    timeout: .milliseconds(1)
                                )
                            }
                            if number % 32 == 0 { hanging.cancel() }
                            await #expect(throws: CallError.self) { try await hanging.value }
                        }
                        if number % 100 == 0 {
                            _ = try await pair.client.signals(Echo.played)
                        }
                    }
                }
                try await round(1000)
                let before = (descriptors(), memory())
                try await round(Self.calls)
                let after = (descriptors(), memory())
                // A descriptor of an answer may still be on its way to be closed.
                #expect(after.0 <= before.0 + 2, "\(before) \(after)")
                // Calls that never end are the service's own: about 2 KiB each.
                #expect(after.1 < before.1 + 4096 + Self.calls / 16 * 4, "\(before) \(after)")
            }
        }
    }
}

private func descriptors() -> Int {
    do {
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
    } catch {
        return -1
    }
}

/// Resident memory in KiB.
private func memory() -> Int {
    guard let status = FileManager.default.contents(atPath: "/proc/self/status") else { return -1 }
    let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return line.flatMap { Int($0.split(separator: " ").dropLast().last ?? "") } ?? -1
}
