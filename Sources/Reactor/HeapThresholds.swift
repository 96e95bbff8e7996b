internal import CLinux

/// The sizes at which the C library returns memory to the system (mallopt(3)).
public enum HeapThresholds {
    /// Makes the C library return each block of 128 KiB or more when the block is freed, and the free end of the heap
    /// when this end reaches 4 MiB.
    ///
    /// Otherwise it raises both sizes once a large block has been freed, up to 32 MiB, and a process keeps the memory
    /// of its largest message for good.
    public static func fix() {
        mallopt(M_MMAP_THRESHOLD, 128 << 10)
        mallopt(M_TRIM_THRESHOLD, 4 << 20)
    }
}
