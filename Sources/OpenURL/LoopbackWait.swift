internal import Loopback
internal import OpenURLBus
internal import RFC1808
internal import Reactor

/// A loopback server on a client's event loop.
actor LoopbackWait {
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    /// Yields the callback, at most once.
    nonisolated let callbacks: AsyncStream<GenericURL>
    private let continuation: AsyncStream<GenericURL>.Continuation
    private let loop: EventLoop
    private let server: LoopbackServer
    private var watch: DescriptorWatch?

    /// - Parameter state: the value that the callback must have as `state`; nil for any value.
    init(_ address: GenericURL, state: String?, on loop: EventLoop) throws(LoopbackError) {
        self.loop = loop
        server = try LoopbackServer(address) { url in state == nil || FormParameters(url)["state"] == state }
        (callbacks, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    /// The server's address, with its port.
    var redirect: GenericURL { server.redirect }

    /// Runs the server until ``stop()``.
    func start() {
        watch = loop.watch(server.descriptor, for: .readable) { [unowned self] _ in
            assumeIsolated { $0.process() }
        }
    }

    func stop() {
        watch?.cancel()
        watch = nil
        continuation.finish()
    }

    private func process() {
        guard let url = server.process() else { return }
        continuation.yield(url)
        stop()
    }
}
