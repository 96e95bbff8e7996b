internal import CLinux
internal import Glibc

/// A process's confinement by a sandbox, a container, or a security label.
///
/// In case of doubt, a process counts as confined, for example if nothing can be found out about it.
package struct ProcessConfinement: Hashable {
    /// The identifier that the sandbox gives to its application; nil if it gives none.
    package let application: String?

    /// Finds out how the given process is confined; nil if it has the same view of users and files as this process, and
    /// no label that confines it.
    package init?(pid: UInt32) {
        let label = SecurityLabel(pid: pid)
        let namespaces = Self.namespaces(of: pid)
        let isElsewhere =
            namespaces != Self.ownNamespaces || namespaces.contains(nil) || ProcessFiles.link("root", pid: pid) != "/"
        guard isElsewhere || label.confines else { return nil }
        application = label.snap ?? Self.snap(pid: pid) ?? FlatpakInstance(pid: pid)?.application
    }

    /// Returns whether a process is confined.
    package static func isConfined(pid: UInt32) -> Bool { ProcessConfinement(pid: pid) != nil }

    private static let ownNamespaces = namespaces(of: UInt32(getpid()))

    private static func namespaces(of pid: UInt32) -> [String?] {
        ["ns/user", "ns/mnt"].map { ProcessFiles.link($0, pid: pid) }
    }

    /// Returns the name of the snap whose control group a process belongs to: snapd starts each snap in a scope
    /// `snap.NAME.APP-ID.scope`.
    private static func snap(pid: UInt32) -> String? {
        let group = ProcessFiles.bytes("cgroup", pid: pid).map { String(decoding: $0, as: UTF8.self) }
        let scope = group?.split(whereSeparator: { $0 == "\n" || $0 == "/" }).last { $0.hasPrefix("snap.") }
        return scope?.split(separator: ".").dropFirst().first.map(String.init)
    }
}

/// A label that one of the kernel's security modules gives a process.
struct SecurityLabel: Hashable {
    /// Whether the label restricts the process more than this process is restricted.
    let confines: Bool
    /// The name of the snap that the label is for; nil for any other label.
    let snap: String?

    private static let own = ProcessFiles.bytes("attr/current", pid: UInt32(getpid())).map(text)

    init(pid: UInt32) {
        self.init(ProcessFiles.bytes("attr/current", pid: pid).map(Self.text), own: Self.own)
    }

    /// - Parameters:
    ///   - label: The content of the process's `attr/current`; nil if the kernel has no labels.
    ///   - own: The same for this process.
    init(_ label: String?, own: String?) {
        snap = label.flatMap {
            $0.hasPrefix("snap.") ? $0.split(separator: ".").dropFirst().first.map(String.init) : nil
        }
        guard let label, label != own else {
            confines = label == nil && own != nil
            return
        }
        // AppArmor: `unconfined`, or the profile and its mode in parentheses. In the modes `complain` and `unconfined`,
        // a profile refuses nothing.
        if label == "unconfined" || label.hasSuffix("(unconfined)") || label.hasSuffix("(complain)") {
            confines = false
            return
        }
        // SELinux: user, role, type, level. Types such as `unconfined_t` and `unconfined_service_t` refuse nothing.
        let fields = label.split(separator: ":")
        confines = !(fields.count >= 3 && fields[2].hasPrefix("unconfined_"))
    }

    private static func text(_ bytes: [UInt8]) -> String {
        String(decoding: bytes.prefix { $0 != 0 && $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
