internal import Glibc

/// A value that one thread at a time may touch.
///
/// It is used in place of `Synchronization.Mutex`, whose way through the kernel, where threads meet, ThreadSanitizer does
/// not see: it would report every access to the value as a race, and so hide the real ones. A free lock costs the same.
///
/// Unchecked because the value is touched with the mutex held alone.
package final class Lock<Value: Sendable>: @unchecked Sendable {
    private var value: Value
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    /// Makes a lock that is free.
    package init(_ value: Value) {
        self.value = value
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` while no other thread touches the value. It must not ask for the lock again, nor run anybody else's code.
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
