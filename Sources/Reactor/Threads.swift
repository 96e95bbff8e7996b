internal import CLinux
internal import Glibc
package import SystemPackage

/// A thread's closure, in a form that a pointer can carry.
private final class ThreadBody: Sendable {
    let name: String
    let run: @Sendable () -> Void

    init(_ name: String, _ run: @escaping @Sendable () -> Void) {
        self.name = name
        self.run = run
    }
}

/// Starts a thread that nothing waits for.
///
/// Its stack is large because property lists may be nested deeply, and are read by recursion. Only the pages in use
/// take up memory.
///
/// - Parameter name: at most 15 bytes, for debuggers.
/// - Returns: the error from `pthread_create(3)`; nil if the thread runs.
package func startThread(_ name: String, _ run: @escaping @Sendable () -> Void) -> Errno? {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, 4 << 20)
    pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
    var id = pthread_t()
    let body = Unmanaged.passRetained(ThreadBody(name, run))
    let status = pthread_create(
        &id,
        &attributes,
        { argument in
            if let argument {
                let body = Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue()
                pthread_setname_np(pthread_self(), body.name)
                body.run()
            }
            return nil
        },
        body.toOpaque()
    )
    guard status != 0 else { return nil }
    body.release()
    return Errno(rawValue: status)
}
