import Foundation
import TestSupport
import Testing

/// The outcome of a run of `openurl`.
struct CommandRun: Sendable, Equatable {
    let status: Int32
    let output: String
    let errors: String

    /// The lines of the output.
    var lines: [String] { output.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init) }
}

/// The environment of a run without a session bus.
let noBus = environment(["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"])

/// Returns the test's own environment with other variables, and without variables that would change a result.
func environment(_ variables: [String: String]) -> [String: String] {
    var environment = ProcessInfo.processInfo.environment
    for name in ["XDG_ACTIVATION_TOKEN", "DESKTOP_STARTUP_ID", "NO_COLOR"] { environment[name] = nil }
    return environment.merging(variables) { $1 }
}

/// Runs the `openurl` that was built with the tests.
func openurl(
    _ arguments: String...,
    input: [UInt8] = [],
    environment: [String: String] = noBus,
    output: String? = nil,
    in directory: URL? = nil
) async throws -> CommandRun {
    try await run(executable, arguments, input, environment, output, directory)
}

/// Runs the `openurl` that was built with the tests, without a session bus unless the environment names one.
func openurl(_ arguments: [String], environment: [String: String] = noBus) async throws -> CommandRun {
    try await run(executable, arguments, [], environment, nil, nil)
}

/// Runs the `openurl` that was built with the tests on a stand-in's bus.
func openurl(
    _ arguments: [String],
    on router: StandInRouter,
    _ variables: [String: String] = [:]
) async throws -> CommandRun {
    try await run(executable, arguments, [], router.environment.merging(variables) { $1 }, nil, nil)
}

/// Runs another program.
func program(_ file: URL, _ arguments: [String], environment: [String: String]) async throws -> CommandRun {
    try await run(file, arguments, [], environment, nil, nil)
}

/// Runs a line of shell in which `$openurl` is the command.
func shell(_ line: String, environment: [String: String] = noBus) async throws -> CommandRun {
    let variables = environment.merging(["openurl": executable.path]) { $1 }
    return try await run(URL(filePath: "/bin/sh"), ["-c", line], [], variables, nil, nil)
}

/// Runs `openurl` on a terminal. The outcome has standard output and standard error as one text.
func onTerminal(_ arguments: String..., environment: [String: String] = noBus) async throws -> CommandRun {
    let words = arguments.map { "'\($0)'" }.joined(separator: " ")
    let run = try await shell(
        "exec script --quiet --return --command \"$openurl \(words)\" /dev/null",
        environment: environment
    )
    return CommandRun(status: run.status, output: run.output.replacing("\r\n", with: "\n"), errors: run.errors)
}

private var executable: URL { product("openurl") }

/// Returns the path of a program that was built with the tests, in the directory of the test program.
func product(_ name: String) -> URL {
    URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().appending(path: name)
}

extension URL {
    /// Creates the directory and its missing parents.
    func createDirectory() throws {
        try FileManager.default.createDirectory(at: self, withIntermediateDirectories: true)
    }

    /// Writes a text to the file.
    func write(_ text: String) throws {
        try Data(text.utf8).write(to: self)
    }
}

private func run(
    _ executable: URL,
    _ arguments: [String],
    _ input: [UInt8],
    _ environment: [String: String],
    _ output: String?,
    _ directory: URL?
) async throws -> CommandRun {
    // With files instead of pipes, no reader is needed while the program runs.
    let files = FileManager.default.temporaryDirectory.appending(path: "openurl-run-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: files) } }
    let inputFile = files.appending(path: "input")
    try Data(input).write(to: inputFile)
    let outputFile = output.map { URL(filePath: $0) } ?? files.appending(path: "output")
    let errorFile = files.appending(path: "errors")
    for file in output == nil ? [outputFile, errorFile] : [errorFile] { try Data().write(to: file) }

    let process = ChildProcess()
    process.executableURL = executable
    process.arguments = arguments
    process.environment = environment
    process.currentDirectoryURL = directory
    let handles = (
        input: try FileHandle(forReadingFrom: inputFile),
        output: try FileHandle(forWritingTo: outputFile),
        errors: try FileHandle(forWritingTo: errorFile)
    )
    process.standardInput = handles.input
    process.standardOutput = handles.output
    process.standardError = handles.errors
    let status = try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Int32, any Error>) in
        process.terminationHandler = { ended.resume(returning: $0.terminationStatus) }
        do {
            try process.run()
        } catch {
            process.terminationHandler = nil
            ended.resume(throwing: error)
        }
    }
    // The process keeps the handles.
    for handle in [handles.input, handles.output, handles.errors] { try handle.close() }
    return CommandRun(
        status: status,
        output: output == nil ? String(decoding: try Data(contentsOf: outputFile), as: UTF8.self) : "",
        errors: String(decoding: try Data(contentsOf: errorFile), as: UTF8.self)
    )
}
