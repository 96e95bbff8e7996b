internal import CLinux
internal import Glibc
public import SystemPackage

/// Reports when programs have to wait for memory, according to the kernel's "Pressure Stall Information"
/// (`/proc/pressure/memory`).
public enum PressureWatch {
    /// Calls `handler` on the loop's thread each time programs have waited for memory for 150 ms within 2 s.
    ///
    /// This happens at most once every 2 s. The watch lasts as long as the loop, or until the kernel withdraws it. Call
    /// this on the loop's thread.
    ///
    /// - Throws: The kernel's error.
    ///   - `.noSuchFileOrDirectory` if the kernel does not measure memory pressure.
    ///   - `.permissionDenied` or `.notPermitted` if this user may not watch it.
    ///   - `.notSupported` if the measurement has been disabled.
    public static func start(on loop: EventLoop, _ handler: @escaping () -> Void) throws(Errno) {
        let descriptor = open("/proc/pressure/memory", O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        // Without privileges, a process may use only windows that are multiples of 2 s.
        let trigger = "some 150000 2000000"
        // The kernel expects the terminating NUL as part of the text.
        guard write(descriptor, trigger, trigger.utf8.count + 1) >= 0 else {
            let error = Errno(rawValue: errno)
            close(descriptor)
            throw error
        }
        var watch: DescriptorWatch?
        watch = loop.watch(descriptor, for: .priority) { events in
            // The kernel has withdrawn the trigger, so the descriptor would always be ready.
            guard !events.contains(.error) else {
                watch?.cancel()
                close(descriptor)
                return
            }
            if events.contains(.priority) { handler() }
        }
    }
}
