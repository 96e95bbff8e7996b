package import DBus
package import OpenURLBus

/// A client of the router. If the router is not running, the bus starts it.
package struct RouterClient {
    private let connection: RouterConnection

    /// Connects to the router's bus. If that fails, or if another program owns the router's name, every call throws
    /// that failure.
    ///
    /// - Parameter mayUseLane: whether to use the router's lane instead of the bus, if this installation's router is
    ///   listening there.
    package init(on invocation: Invocation, mayUseLane: Bool = false) {
        connection = RouterConnection(invocation, mayUseLane: mayUseLane && invocation.host == nil)
    }

    package func bus() throws(CommandFailure) -> BlockingConnection {
        switch connection.state {
        case .open(let bus): return bus
        case .failed(let failure): throw failure
        }
    }

    /// Makes a call. It is repeated over the bus if the lane's router exited before it saw the call, or if the call is
    /// too large for the lane.
    ///
    /// - Parameter refusal: the exit status for an error that has none of its own.
    private func perform<Output>(
        refusal: Int32,
        _ body: (BlockingConnection) throws(CallError) -> Output
    ) throws(CommandFailure) -> Output {
        connection.leaveEndedLane()
        let bus = try bus()
        do throws(CallError) {
            return try body(bus)
        } catch .remote(let error) where connection.isLane && error.name == .unknownObject {
            connection.leaveLane()
        } catch .notSent where connection.isLane {
            connection.leaveLane()
        } catch .disconnected where connection.isLane {
            throw CommandFailure(.remote(RemoteError(.noReply, "")), refusal: refusal)
        } catch {
            throw CommandFailure(error, refusal: refusal)
        }
        return try perform(refusal: refusal, body)
    }

    /// The time limit for a call that the router itself limits. The limit covers the times that a manifest can set,
    /// each at most a day, and some time for the answer. Only a program that poses as a router makes a call take this
    /// long.
    package static let longestCall = Duration.seconds(2 * 86_400)

    /// The time limit for a call that starts, suspends or ends a handler. The router's own limits are shorter, unless a
    /// manifest says otherwise.
    package static let lifecycleCall = Duration.seconds(120)

    /// How much longer than the user's time limit a router may take to answer.
    package static let grace = Duration.seconds(2)

    /// Calls one of the router's methods.
    ///
    /// - Parameters:
    ///   - timeout: the time limit for the call. Pass ``longestCall`` for a method that the router itself limits.
    ///   - refusal: the exit status for an error that does not have its own. The default is the one for a missing
    ///     router.
    ///   - notice: called once if there is no answer after 300 ms.
    package func call<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        _ input: Input,
        timeout: Duration = .seconds(25),
        refusal: Int32 = ExitStatus.unavailable,
        notice: (() -> Void)? = nil
    ) throws(CommandFailure) -> Output {
        try perform(refusal: refusal) { bus throws(CallError) in
            try bus.call(
                method,
                on: RouterService.object,
                input,
                timeout: timeout,
                noticeAfter: Self.noticeDelay,
                notice: notice
            )
        }
    }

    /// Calls a method that opens a URL. During the call, the caller has a handle with ``token``.
    ///
    /// - Parameters:
    ///   - timeout: the time limit for the call.
    ///   - notice: called once if there is no answer after 300 ms.
    ///   - progress: called for each report from the handler; nil if the reports are not shown.
    ///   - interrupt: Ctrl-C, with the closure to call when it cancels the request.
    package func open<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        _ input: Input,
        timeout: Duration,
        notice: (() -> Void)?,
        progress: ((ProgressReport) -> Void)?,
        interrupt: (signal: Interrupt, cancels: () -> Void)?
    ) throws(CommandFailure) -> Output {
        try perform(refusal: ExitStatus.unavailable) { bus throws(CallError) in
            let path = bus.uniqueName.flatMap { name in Self.token.flatMap { RequestInterface.path(of: name, $0) } }
            let handle = path.map { RemoteObject(RouterService.name, $0, startsService: false) }
            if let handle, let progress {
                bus.receive(RequestInterface.progress, from: handle) { body in
                    if let report = ProgressReport(body.values.0, body.values.1) { progress(report) }
                }
            }
            let call = try bus.begin(method, on: RouterService.object, input)
            guard let interrupt, let handle else {
                return try bus.answer(to: call, timeout: timeout, noticeAfter: Self.noticeDelay, notice: notice)
            }
            let cancel = {
                guard interrupt.signal.take() else { return }
                interrupt.cancels()
                do throws(CallError) {
                    try bus.send(RequestInterface.cancel, on: handle, Empty())
                } catch {
                    // The connection has ended, and so has the wait for the answer.
                }
            }
            return try bus.answer(
                to: call,
                timeout: timeout,
                noticeAfter: Self.noticeDelay,
                notice: notice,
                watching: [(descriptor: interrupt.signal.descriptor, isReadable: cancel)]
            )
        }
    }

    /// The token of every handle, because the command makes only one request at a time.
    package static let token = HandleToken(rawValue: "openurl")

    private static let noticeDelay = Duration.milliseconds(300)

    /// Returns the version of the running router; nil if none is running. This does not start a router.
    package func runningVersion() throws(CommandFailure) -> String? {
        let bus = try bus()
        do throws(CallError) {
            let owner = try bus.call(BusDriver.getNameOwner, on: BusDriver.object, RouterService.name.rawValue)
            let property = Arguments(RouterInterface.version.interface.rawValue, RouterInterface.version.name.rawValue)
            // The router may exit at this point, but the bus never starts a program for a unique name.
            let router = RemoteObject(BusName(owner), RouterService.path)
            return try bus.call(PropertiesInterface.get, on: router, property).string
        } catch .remote(let error) where error.name == .nameHasNoOwner || error.name == .serviceUnknown {
            return nil
        } catch {
            throw CommandFailure(error, refusal: ExitStatus.unavailable)
        }
    }
}
