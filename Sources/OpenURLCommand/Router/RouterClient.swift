internal import DBus
internal import OpenURLBus

/// A client of the router. The bus starts the router if the router is not running.
struct RouterClient {
    private enum Connection {
        case open(BlockingConnection)
        case failed(CommandFailure)
    }

    private let connection: Connection

    /// Connects to the router's bus. If the connection fails, every call throws that failure.
    init(on bus: BusAddress) {
        do throws(ConnectionError) {
            connection = .open(try BlockingConnection(bus))
        } catch {
            connection = .failed(CommandFailure(error))
        }
    }

    private func bus() throws(CommandFailure) -> BlockingConnection {
        switch connection {
        case .open(let bus): return bus
        case .failed(let failure): throw failure
        }
    }

    /// Calls a method of the router.
    ///
    /// - Parameters:
    ///   - timeout: the time limit of the call; nil for a method that the router itself limits, such as opening a URL.
    ///   - refusal: the exit status for an error that has no exit status itself. The default is that of a missing router.
    ///   - notice: called once if there is no answer after 300 ms.
    func call<Input: MessageBody, Output: MessageBody>(
        _ method: Method<Input, Output>,
        _ input: Input,
        timeout: Duration? = .seconds(25),
        refusal: Int32 = ExitStatus.unavailable,
        notice: (() -> Void)? = nil
    ) throws(CommandFailure) -> Output {
        let bus = try bus()
        do throws(CallError) {
            return try bus.call(
                method,
                on: RouterService.object,
                input,
                timeout: timeout,
                noticeAfter: .milliseconds(300),
                notice: notice
            )
        } catch {
            throw CommandFailure(error, refusal: refusal)
        }
    }

    /// Returns the version of the running router, or nil if no router runs. The call does not start a router.
    func runningVersion() throws(CommandFailure) -> String? {
        let bus = try bus()
        do throws(CallError) {
            let owner = try bus.call(BusDriver.getNameOwner, on: BusDriver.object, RouterService.name.rawValue)
            let property = Arguments(RouterInterface.version.interface.rawValue, RouterInterface.version.name.rawValue)
            // The router may end now, and the bus never starts a program for a unique name.
            let router = RemoteObject(BusName(owner), RouterService.path)
            return try bus.call(BusDriver.getProperty, on: router, property).string
        } catch .remote(let error) where error.name == .nameHasNoOwner || error.name == .serviceUnknown {
            return nil
        } catch {
            throw CommandFailure(error, refusal: ExitStatus.unavailable)
        }
    }
}

private enum BusDriver {
    static let object = RemoteObject(.bus, "/org/freedesktop/DBus")
    static let getNameOwner = Method<String, String>("org.freedesktop.DBus", "GetNameOwner")
    static let getProperty = Method<Arguments<String, String>, Value>("org.freedesktop.DBus.Properties", "Get")
}
