internal import CLinux
internal import Glibc

/// A running process, distinguished from every other process since the system was started.
///
/// When a process has ended, the kernel reuses its number. Together with the start time, a number identifies exactly
/// one process.
package struct ProcessIdentity: Hashable, Sendable {
    /// The process's number.
    package let pid: UInt32
    /// When the process started, in clock ticks since the system was started.
    package let startTime: UInt64

    /// Creates the identity of a process that is known from elsewhere, such as a record.
    package init(pid: UInt32, startTime: UInt64) {
        self.pid = pid
        self.startTime = startTime
    }

    /// Finds the process that currently has the given number; nil if there is no such process, or if it has ended.
    package init?(pid: UInt32) {
        guard let fields = Self.fields(pid: pid), let startTime = UInt64(String(decoding: fields[19], as: UTF8.self))
        else { return nil }
        self.init(pid: pid, startTime: startTime)
    }

    /// Returns the number of a process's parent; nil if there is no such process.
    package static func parent(of pid: UInt32) -> UInt32? {
        fields(pid: pid).flatMap { UInt32(String(decoding: $0[1], as: UTF8.self)) }
    }

    /// Returns whether a process descends from this one, which must still be running.
    package func isAncestor(of pid: UInt32) -> Bool {
        guard ProcessIdentity(pid: self.pid) == self else { return false }
        var next = pid
        // When a parent ends, its children go to the first process, or to the session's manager.
        for _ in 0..<Self.generations {
            guard let parent = Self.parent(of: next), parent > 1 else { return false }
            if parent == self.pid { return true }
            next = parent
        }
        return false
    }

    /// Maximum number of generations to check.
    private static let generations = 64

    /// Returns the fields of a running process's `stat`, from the third on.
    private static func fields(pid: UInt32) -> [ArraySlice<UInt8>]? {
        guard let bytes = ProcessFiles.bytes("stat", pid: pid) else { return nil }
        // The second field is the program's name in parentheses, which may contain any character (proc_pid_stat(5)).
        guard let end = bytes.lastIndex(of: UInt8(ascii: ")")) else { return nil }
        let fields = bytes[(end + 1)...].split(separator: UInt8(ascii: " "))
        // After a process has ended, it keeps its number until its parent has collected its exit status.
        guard fields.count > 19, let state = fields[0].first, !"ZXx".utf8.contains(state) else { return nil }
        return fields
    }
}
