import Glibc
import TestSupport
import Testing

@testable import SchemeRegistry

/// A read of an empty pipe stands for a file system that does not answer.
@Suite(.timeLimit(.minutes(5))) struct PatientReaderTests {
    private let reader = PatientReader(patience: .seconds(1))

    @Test func pathThatDoesNotAnswerIsLeftOut() async throws {
        var pipe: [CInt] = [-1, -1]
        try #require(Glibc.pipe(&pipe) == 0)
        defer { for end in pipe { close(end) } }
        let silent = pipe[0]
        let read = reader.read("/start") { leftOut, progress in
            progress("/silent")
            if !leftOut.contains("/silent") { wait(for: silent) }
            progress("/other")
            return leftOut
        }
        #expect(read == ["/silent"])
        // The thread still waits, so nothing tries the path.
        #expect(reader.read("/silent") { _, _ in true } == nil)
        #expect(reader.read("/start") { leftOut, _ in leftOut } == ["/silent"])
        #expect(write(pipe[1], "x", 1) == 1)
        try await eventually(reader.read("/start") { leftOut, _ in leftOut }) { $0 == [] }
        #expect(reader.read("/silent") { _, _ in true } == true)
    }

    @Test func firstPathThatDoesNotAnswerEndsTheReading() throws {
        var pipe: [CInt] = [-1, -1]
        try #require(Glibc.pipe(&pipe) == 0)
        defer {
            close(pipe[1])
            close(pipe[0])
        }
        let silent = pipe[0]
        #expect(reader.read("/start") { _, _ in wait(for: silent) } == nil)
        #expect(write(pipe[1], "x", 1) == 1)
    }
}

/// Blocks until the pipe has a byte, and takes the byte.
private func wait(for pipe: CInt) {
    var byte: UInt8 = 0
    _ = read(pipe, &byte, 1)
}
