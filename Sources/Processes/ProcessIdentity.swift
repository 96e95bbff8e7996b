internal import CLinux
internal import Glibc

/// A running process, apart from every other process since the start of the system.
///
/// The kernel reuses the number of a process that has ended. The start time tells the two processes apart.
package struct ProcessIdentity: Hashable, Sendable {
    /// The number of the process.
    package let pid: UInt32
    /// The start of the process, in clock ticks since the start of the system.
    package let startTime: UInt64

    /// Creates the identity of a process that is known from elsewhere, such as a record.
    package init(pid: UInt32, startTime: UInt64) {
        self.pid = pid
        self.startTime = startTime
    }

    /// The identity of the process that has a number now; nil if there is no such process, or if the process has ended.
    package init?(pid: UInt32) {
        guard let fields = Self.fields(pid: pid), let startTime = UInt64(String(decoding: fields[19], as: UTF8.self))
        else { return nil }
        self.init(pid: pid, startTime: startTime)
    }

    /// The number of a process's parent; nil if there is no such process.
    package static func parent(of pid: UInt32) -> UInt32? {
        fields(pid: pid).flatMap { UInt32(String(decoding: $0[1], as: UTF8.self)) }
    }

    /// Whether a process descends from this one, which still runs.
    package func isAncestor(of pid: UInt32) -> Bool {
        guard ProcessIdentity(pid: self.pid) == self else { return false }
        var next = pid
        // A process whose parent has ended is a child of the first process, or of the session's manager.
        for _ in 0..<Self.generations {
            guard let parent = Self.parent(of: next), parent > 1 else { return false }
            if parent == self.pid { return true }
            next = parent
        }
        return false
    }

    /// The number of generations that are looked at.
    private static let generations = 64

    /// The fields of a running process's `stat` from the third on.
    private static func fields(pid: UInt32) -> [ArraySlice<UInt8>]? {
        guard let bytes = ProcessFiles.bytes("stat", pid: pid) else { return nil }
        // The second field is the name of the program in parentheses, and the name may hold any character (proc_pid_stat(5)).
        guard let end = bytes.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = bytes[(end + 1)...].split(separator: UInt8(ascii: " "))
        // A process that has ended keeps its number until its parent has learnt of the end.
        guard fields.count > 19, let state = fields[0].first, !"ZXx".utf8.contains(state) else { return nil }
        return fields
    }
}
