package import Loopback
internal import OpenURLBus
package import RFC1808
package import Reactor

/// A loopback server on a client's event loop.
package actor LoopbackWait {
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// Yields the callback, at most once. After it, ``stop()`` answers the browser.
    package nonisolated let callbacks: AsyncStream<GenericURL>
    private let continuation: AsyncStream<GenericURL>.Continuation
    private let loop: EventLoop
    private let server: LoopbackServer
    private var watch: DescriptorWatch?
    private var timer: TimerID?

    /// - Parameter state: the value that the callback must have as `state`; nil for any value.
    package init(_ address: GenericURL, state: String?, on loop: EventLoop) throws(LoopbackError) {
        self.loop = loop
        server = try LoopbackServer(address) { url in state == nil || FormParameters(url)["state"] == state }
        (callbacks, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    /// The server's address, with its port.
    package var redirect: GenericURL { server.redirect }

    /// Runs the server until ``stop()``.
    package func start() {
        watch = loop.watch(server.descriptor, for: .readable) { [unowned self] _ in
            assumeIsolated { $0.process() }
        }
    }

    /// Stops the server at a time, unless it has stopped by then.
    package func stop(at end: ContinuousClock.Instant) {
        guard watch != nil else { return }
        timer = loop.schedule(at: end) { [weak self] in self?.assumeIsolated { $0.stop() } }
    }

    /// Stops the server. If the callback has arrived, the browser now shows that.
    package func stop() {
        end()
        server.confirm()
    }

    private func process() {
        guard let url = server.process() else { return }
        continuation.yield(url)
        end()
    }

    private func end() {
        watch?.cancel()
        watch = nil
        if let timer { loop.cancelTimer(timer) }
        timer = nil
        continuation.finish()
    }
}
