// A release builds all targets, and its toolchain has no static Testing.
#if canImport(Testing)
    import FoundationEssentials
    public import Glibc
    import Testing

    /// A directory that exists as long as its test, and is removed with everything in it.
    public final class TemporaryDirectory: Sendable {
        /// The path, with all links resolved.
        public let path: String

        /// Makes the directory in another one.
        public init(in parent: String = "/tmp") throws {
            var template = Array("\(parent)/openurl-test.XXXXXX".utf8CString)
            let made = try #require(mkdtemp(&template))
            let resolved = try #require(realpath(made, nil))
            defer { free(resolved) }
            path = String(cString: resolved)
        }

        deinit {
            do {
                try FileManager.default.removeItem(atPath: path)
            } catch {
                Issue.record(error)
            }
        }

        /// Writes a file, creates the directories above it, and returns its path.
        @discardableResult
        public func write(_ bytes: [UInt8], to name: String, mode: mode_t = 0o644) throws -> String {
            let file = try makeParents(of: name)
            let descriptor = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
            try #require(descriptor >= 0)
            defer { close(descriptor) }
            try #require(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
            return file
        }

        /// Writes a file of text, creates the directories above it, and returns its path.
        @discardableResult
        public func write(_ text: String, to name: String, mode: mode_t = 0o644) throws -> String {
            try write(Array(text.utf8), to: name, mode: mode)
        }

        /// Creates a directory and those above it, and returns its path.
        @discardableResult
        public func makeDirectory(_ name: String) throws -> String {
            try makeParents(of: name + "/x").dropLast(2).description
        }

        /// Creates a link and the directories above it, and returns its path.
        @discardableResult
        public func link(_ name: String, to target: String) throws -> String {
            let link = try makeParents(of: name)
            try #require(symlink(target, link) == 0)
            return link
        }

        /// Creates the directories above an entry, and returns the entry's path.
        public func makeParents(of name: String) throws -> String {
            var parent = path
            for component in name.split(separator: "/").dropLast() {
                parent += "/\(component)"
                try #require(mkdir(parent, 0o755) == 0 || errno == EEXIST)
            }
            return "\(path)/\(name)"
        }
    }
#endif
