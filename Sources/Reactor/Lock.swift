internal import CLinux
internal import Glibc

/// A value that only one thread at a time may use.
///
/// This is not `Synchronization.Mutex`, because ThreadSanitizer does not see that a contended mutex, which waits in the
/// kernel, orders two threads. It would report contended access to the value as a race, and so would hide real races.
/// `Documentation/Decisions/lock.md` has the figures.
///
/// The class is unchecked `Sendable` because the value is used only while the mutex is held.
package final class Lock<Value: Sendable>: @unchecked Sendable {
    private var value: Value
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    /// Creates a free lock.
    package init(_ value: Value) {
        self.value = value
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` while no other thread uses the value.
    ///
    /// `body` must not ask for the lock again, and must not call closures of other parts of the program.
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value)
    }
}
