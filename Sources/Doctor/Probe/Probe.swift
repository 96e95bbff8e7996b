internal import DBus
internal import OpenURLBus
internal import Translations

/// The outcome of one probe.
enum ProbeOutcome: Hashable {
    /// The URL has arrived, after this many milliseconds.
    case arrived(Int64)
    case lost(String)
    /// The way leads nowhere, for a reason that openurl cannot repair.
    case impossible(String)
    case notSent(String)
}

/// A URL on its way, and the claim that receives it.
final class Probe {
    private let connection: BlockingConnection
    private let url: String
    private var arrival: ContinuousClock.Instant?

    /// The time limit for a URL to arrive.
    private static let limit = Duration.seconds(5)

    /// Claims a URL.
    ///
    /// - Throws: why there is no claim.
    init(_ url: String, on bus: BusAddress) throws {
        self.url = url
        connection = try BlockingConnection(bus, timeout: SessionBus.callLimit)
        guard let token = HandleToken(rawValue: "probe"),
            let path = connection.uniqueName.flatMap({ RequestInterface.path(of: $0, token) })
        else { throw ConnectionError.timedOut }
        let handle = RemoteObject(RouterService.name, path, startsService: false)
        connection.receive(CallbackHandleInterface.completed, from: handle) { [unowned self] body in
            let (code, _, _) = body.values
            if code == CallbackEnd.received.rawValue { arrival = .now }
        }
        var options = CallbackOptions()
        options.handleToken = token
        options.timeout = Self.limit * 2
        let pattern = String(url.dropLast())
        let claim = Arguments("", pattern, options)
        _ = try connection.call(
            CallbackInterface.request,
            on: RouterService.object,
            claim,
            timeout: SessionBus.callLimit
        )
    }

    func sendOverBus() -> ProbeOutcome {
        let start = ContinuousClock.now
        do throws(CallError) {
            let input = SentURL(url)
            _ = try connection.call(RouterInterface.openURL, on: RouterService.object, input, timeout: Self.limit)
        } catch {
            return .lost("\(error)")
        }
        return wait(since: start)
    }

    func sendToPortal() -> ProbeOutcome {
        let start = ContinuousClock.now
        do throws(CallError) {
            _ = try connection.call(Portal.openURI, on: Portal.object, Arguments("", url, [:]), timeout: Self.limit)
        } catch .remote(let error) where error.isFromMissingMethod {
            return .impossible(Portal.reasonWithoutBackend)
        } catch {
            return .lost("\(error)")
        }
        return wait(since: start)
    }

    /// Sends the URL with a program. If the program exits before the URL has arrived, the wait ends.
    func send(with arguments: [String], _ environment: [String: String]) -> ProbeOutcome {
        let start = ContinuousClock.now
        guard let tool = RunningTool(arguments, environment: environment) else {
            return .lost(translated("it cannot be started"))
        }
        let outcome = wait(since: start, watching: tool)
        guard case .lost = outcome, tool.isAtEnd, let line = tool.lastLine else { return outcome }
        return .lost(line)
    }

    private func wait(since start: ContinuousClock.Instant, watching tool: RunningTool? = nil) -> ProbeOutcome {
        do throws(CallError) {
            _ = try connection.wait(
                forSignalsOf: RouterService.name,
                timeout: Self.limit,
                watching: { tool.map { tool in tool.isAtEnd ? [] : [(tool.descriptor, tool.read)] } ?? [] },
                until: { arrival != nil || tool?.isAtEnd == true }
            )
            // The program may have exited before the signal was read.
            if arrival == nil, tool != nil {
                try connection.call(PeerInterface.ping, on: RouterService.object, Empty(), timeout: Self.limit)
            }
        } catch {
            if arrival == nil { return .lost("\(error)") }
        }
        guard let arrival else {
            return .lost(translated("nothing arrived within \(Self.limit.components.seconds) seconds"))
        }
        let time = start.duration(to: arrival).components
        return .arrived(time.seconds * 1000 + time.attoseconds / 1_000_000_000_000_000)
    }
}
