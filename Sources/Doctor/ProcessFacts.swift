internal import Glibc
internal import UserFiles

/// Facts about another process, from the kernel.
struct ProcessFacts: Sendable, Hashable {
    let pid: UInt32
    /// The environment with which the process was started; empty if it cannot be read.
    let environment: [String: String]
    /// Whether systemd started the process as the router's unit.
    let isUnit: Bool

    private static let limit = 1 << 21

    init(pid: UInt32) {
        self.pid = pid
        environment = Dictionary(ofVariables: Self.text("/proc/\(pid)/environ").split(separator: "\0").map(String.init))
        isUnit = Self.text("/proc/\(pid)/cgroup").contains("/openurld.service")
    }

    /// Whether the bus started the process.
    var isStartedByBus: Bool { !isUnit && environment["DBUS_STARTER_ADDRESS"] != nil }

    /// How the process was started, as the end of a sentence.
    var start: String {
        isUnit ? "started by systemd" : isStartedByBus ? "started by the bus" : "started by hand"
    }

    /// Returns the program of a process, without links; nil if it cannot be read.
    static func program(pid: UInt32) -> String? {
        guard let path = realpath("/proc/\(pid)/exe", nil) else { return nil }
        defer { free(path) }
        return String(validatingCString: path)
    }

    private static func text(_ path: String) -> String {
        do throws(FileError) {
            return String(decoding: try contents(ofFile: path, limit: limit), as: UTF8.self)
        } catch {
            return ""
        }
    }
}

extension [String: String] {
    /// Creates an environment from variables in the form `NAME=value`. If a name appears several times, the first value
    /// counts.
    init(ofVariables variables: [String]) {
        self = [:]
        for variable in variables {
            guard let equals = variable.firstIndex(of: "=") else { continue }
            let name = String(variable[..<equals])
            if self[name] == nil { self[name] = String(variable[variable.index(after: equals)...]) }
        }
    }
}
