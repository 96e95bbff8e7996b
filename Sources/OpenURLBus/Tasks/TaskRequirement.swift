internal import DBus

/// Something that must be true when a task begins. If nobody on the machine knows about it, it counts as true.
public enum TaskRequirement: String, Sendable, Hashable, CaseIterable {
    /// The machine does not run on its battery (UPower).
    case externalPower = "external-power"
    /// The machine has a network (NetworkManager).
    case network
    /// The machine has a network whose traffic costs nothing (NetworkManager).
    case unmeteredNetwork = "unmetered-network"
    /// Nobody is using the session (logind). Desktops that do not report this never fulfil it.
    case idle
}

extension TaskRequirement: Word {
    package static func problem(with word: String) -> String {
        "'\(word)' is not a condition; it must be one of \(words.joined(separator: ", "))"
    }
}
