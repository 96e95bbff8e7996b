import Foundation
public import TestSupport

// A release builds all targets, and its toolchain has no static Testing.
#if canImport(Testing)
    import Testing

    /// The sites of `hostile_sites.py`, which lie about apps. They are there as long as this object exists.
    public final class HostileSites {
        /// The directory with the file `authority.pem`, which all sites' certificates lead to.
        public let directory: TemporaryDirectory
        private let server = ChildProcess()
        private let input = Pipe()
        private var ports: [String: String] = [:]

        private static let script = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "hostile_sites.py").path

        /// Starts the server.
        public init() throws {
            directory = try TemporaryDirectory()
            let output = Pipe()
            server.executableURL = URL(filePath: "/usr/bin/env")
            server.arguments = ["python3", Self.script, directory.path]
            server.standardInput = input
            server.standardOutput = output
            try server.run()
            var text = ""
            // The ports end with an empty line.
            while !text.hasSuffix("\n\n") {
                let part = output.fileHandleForReading.availableData
                try #require(!part.isEmpty, "the server ended")
                text += String(decoding: part, as: UTF8.self)
            }
            for line in text.split(separator: "\n") {
                let words = line.split(separator: " ").map(String.init)
                ports[words[0]] = words[1]
            }
        }

        deinit {
            // The server serves until its input ends.
            input.fileHandleForWriting.closeFile()
            server.waitUntilExit()
        }

        /// Returns the port of a site.
        public func port(of site: String) -> String { ports[site] ?? ports["*"] ?? "" }

        /// The connections and the requests so far, one line for each.
        public var requests: [String] {
            get throws {
                // The server makes the file before it prints its ports.
                let text = try String(contentsOfFile: "\(directory.path)/requests", encoding: .utf8)
                return text.split(separator: "\n").map(String.init)
            }
        }

        /// All sites, each with the answer that `openurl-proofs` must give about it.
        public static let all = Result {
            let process = ChildProcess()
            let output = Pipe()
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = ["python3", script, "--list"]
            process.standardOutput = output
            try process.run()
            let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            return text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        }
    }
#endif
