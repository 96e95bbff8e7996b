import DBus
import Foundation
import Testing

@testable import OpenURLCommand
@testable import URLOpener

/// The outcome of a run of the command inside the test's process.
struct CapturedRun {
    let status: Int32
    let output: String
    let errors: String

    /// The lines of the output.
    var lines: [String] { output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init) }
}

/// Runs the command in the test's process, without a session bus.
func openurl(_ arguments: String..., input: String = "", isTerminal: Bool = false) throws -> CapturedRun {
    try openurl(arguments.map { .text($0) }, input: Array(input.utf8), isTerminal: isTerminal)
}

/// Runs the command in the test's process, without a session bus.
///
/// - Parameter isTerminal: whether standard output counts as a terminal.
func openurl(
    _ arguments: [CommandLineArgument],
    input: [UInt8] = [],
    isTerminal: Bool = false
) throws -> CapturedRun {
    let inputFile = try MemoryFile()
    try inputFile.write(input)
    return try captured(input: inputFile, isTerminal: isTerminal) { invocation in
        var invocation = invocation
        invocation.arguments = arguments
        return invocation.run()
    }
}

/// Runs a part of the command with an invocation that has no arguments and no session bus.
///
/// - Parameter body: returns the exit status.
func captured(
    input: MemoryFile? = nil,
    isTerminal: Bool = false,
    _ body: (Invocation) throws -> Int32
) throws -> CapturedRun {
    let input = try input ?? MemoryFile()
    let output = try MemoryFile()
    let errors = try MemoryFile()
    let invocation = Invocation(
        arguments: [],
        environment: { _ in nil },
        input: input.descriptor,
        output: StandardOutput(output.descriptor, isTerminal: isTerminal),
        errors: StandardError(descriptor: errors.descriptor),
        bus: .address("unix:path=/nonexistent")
    )
    let status = try body(invocation)
    invocation.output.flush()
    return CapturedRun(status: status, output: try output.text(), errors: try errors.text())
}

/// A file without a name, which disappears together with its descriptor.
final class MemoryFile {
    private let file: UnsafeMutablePointer<FILE>

    init() throws {
        file = try #require(tmpfile())
    }

    deinit {
        fclose(file)
    }

    var descriptor: CInt { fileno(file) }

    /// Replaces the content; the next reader of the descriptor starts at the first byte.
    func write(_ bytes: [UInt8]) throws {
        try #require(pwrite(descriptor, bytes, bytes.count, 0) == bytes.count)
    }

    /// The content as UTF-8.
    func text() throws -> String {
        var bytes = [UInt8](repeating: 0, count: Int(lseek(descriptor, 0, SEEK_END)))
        try #require(pread(descriptor, &bytes, bytes.count, 0) == bytes.count)
        return String(decoding: bytes, as: UTF8.self)
    }
}
