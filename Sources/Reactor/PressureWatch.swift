internal import Glibc
public import SystemPackage

/// The kernel's word that programs wait for memory ("Pressure Stall Information", `/proc/pressure/memory`).
public enum PressureWatch {
    /// Calls `handler` on the loop's thread each time programs have waited for memory for long: 150 ms of 2 s, and once in
    /// 2 s at most. Lasts as long as the loop. Call it on the loop's thread.
    ///
    /// - Throws: what the kernel answers: `.noSuchFileOrDirectory` where it does not measure this, `.permissionDenied` or
    ///   `.notPermitted` where it does not tell this user, `.notSupported` where it was told not to.
    public static func start(on loop: EventLoop, _ handler: @escaping () -> Void) throws(Errno) {
        let descriptor = open("/proc/pressure/memory", O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw Errno(rawValue: errno) }
        // Those who are not privileged may ask for windows of whole multiples of 2 s only.
        let trigger = "some 150000 2000000"
        // The kernel wants the zero at the end.
        guard write(descriptor, trigger, trigger.utf8.count + 1) >= 0 else {
            let error = Errno(rawValue: errno)
            close(descriptor)
            throw error
        }
        _ = loop.watch(descriptor, for: .priority) { events in
            if events.contains(.priority) { handler() }
        }
    }
}
