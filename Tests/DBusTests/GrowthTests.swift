import DBus
import Foundation
import Testing

/// Memory and descriptors after many calls. The default is a few thousand calls; `DBUS_TEST_CALLS=100000` sets a larger
/// number.
@Suite(.serialized, .timeLimit(.minutes(10))) struct GrowthTests {
    private static let calls = ProcessInfo.processInfo.environment["DBUS_TEST_CALLS"].flatMap(Int.init) ?? 4000

    @Test func callsLeakNoDescriptorsOrMemory() async {
        // No other test opens descriptors or allocates memory in a child process.
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
                // The process may not have closed the descriptor of an answer yet.
                #expect(after.0 <= before.0 + 2, "\(before) \(after)")
                // A call that never ends keeps its memory in the service, about 2 KiB each.
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

/// Returns the resident memory in KiB.
private func memory() -> Int {
    guard let status = FileManager.default.contents(atPath: "/proc/self/status") else { return -1 }
    let line = String(decoding: status, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
    return line.flatMap { Int($0.split(separator: " ").dropLast().last ?? "") } ?? -1
}
