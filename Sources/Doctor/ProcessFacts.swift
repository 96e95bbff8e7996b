internal import Processes
internal import Translations

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
        environment = Dictionary(ofVariables: Self.text("environ", pid).split(separator: "\0").map(String.init))
        isUnit = Self.text("cgroup", pid).contains("/openurld.service")
    }

    /// Whether the bus started the process.
    var isStartedByBus: Bool { !isUnit && environment["DBUS_STARTER_ADDRESS"] != nil }

    /// How the process was started, worded to end a sentence.
    var start: String {
        isUnit
            ? translated("started by systemd")
            : isStartedByBus ? translated("started by the bus") : translated("started by hand")
    }

    /// A process's arguments, the program's name first; none if they cannot be read.
    static func arguments(pid: UInt32) -> [String] {
        text("cmdline", pid).split(separator: "\0", omittingEmptySubsequences: false).map(String.init)
    }

    private static func text(_ name: String, _ pid: UInt32) -> String {
        String(decoding: ProcessFiles.bytes(name, pid: pid, limit: limit) ?? [], as: UTF8.self)
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
