import Foundation

/// A handler in Python, which has one thread and only the methods that its program gives it.
enum ScriptHandler {
    /// Writes the manifest of a program in the folder `Programs`, with a scheme that is the last element of the identifier.
    ///
    /// - Parameters:
    ///   - program: the name of the program's file without its extension.
    ///   - arguments: the arguments after the identifier.
    static func write(
        _ id: String,
        _ program: String,
        _ arguments: [String] = [],
        in directory: URL,
        extra: [String: Any] = [:]
    ) throws {
        let keys: [String: Any] = ["CFBundleExecutable": path(of: program), "OUArguments": [id] + arguments]
        try RouterProcess.write(id, [], in: directory, extra: keys.merging(extra) { $1 })
    }

    /// The path of a program in the folder `Programs`.
    static func path(of program: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Programs/\(program).py").path
    }
}
