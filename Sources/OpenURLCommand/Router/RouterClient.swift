internal import DBus
internal import OpenURLBus

/// The router on the session bus, which starts it where it is not running.
struct RouterClient {
    private enum Connection {
        case open(BlockingConnection)
        case failed(CommandFailure)
    }

    private let connection: Connection

    /// Connects to the bus that the router is on; where that is not possible, every call fails.
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

    /// Calls a method of the router's.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait; what opens URLs gives none, as the router bounds that itself.
    ///   - refusal: the exit status for an error that has none of its own; without one it counts as no router at all.
    ///   - notice: called once after 300 ms without an answer.
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

    /// The version of the router that is running; nil where none is. None is started.
    func runningVersion() throws(CommandFailure) -> String? {
        let bus = try bus()
        do throws(CallError) {
            let owner = try bus.call(BusDriver.getNameOwner, on: BusDriver.object, RouterService.name.rawValue)
            let property = Arguments(RouterInterface.version.interface.rawValue, RouterInterface.version.name.rawValue)
            // A unique name is never started, should the router end in between.
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
