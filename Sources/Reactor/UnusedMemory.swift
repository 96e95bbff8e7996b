internal import CLinux

/// The memory that a process holds and does not need while it rests.
public enum UnusedMemory {
    /// Gives free blocks of the heap, and the pages of the program's file, back to the system. A call takes some milliseconds.
    ///
    /// The kernel maps the pages around each page of code that runs, and counts them to the process until memory is short: most
    /// of them are for the start, or for nothing at all. The kernel maps a page again when it is needed, in less than a
    /// microsecond. Breakpoints that a debugger has set in the process are lost.
    public static func giveBack() {
        malloc_trim(0)
        // A failure changes nothing.
        _ = unmap_code()
    }
}
