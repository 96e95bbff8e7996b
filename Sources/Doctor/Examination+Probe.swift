internal import DBus
internal import Desktop
internal import OpenURLBus
internal import SchemeRegistry
internal import Translations

/// Sends URLs to see which ways lead to the router.
extension Examination {
    /// The ways in which programs open URLs.
    private enum Way: String, CaseIterable {
        case bus
        case xdgOpen = "xdg-open"
        case gio = "gio open"
        case portal
    }

    /// Sends a URL in each way, and reports how long it takes to arrive.
    ///
    /// The URL's host has random digits. This process takes the handler's place only for this host, with a claim that
    /// ends with the probe or with the process.
    func probe() {
        guard let bus, router != nil else {
            return add(.probe, .skip, "probe", "probe", translated("without a router, no URL can arrive"))
        }
        let named = topic?.schemes.first
        if let named, Self.webSchemes.contains(named.rawValue) {
            return add(
                .probe,
                .skip,
                "probe",
                "\(named):",
                translated("belongs to the browser, which no program can stand in for")
            )
        }
        // After the last URL, the router first removes its entry for the claims, and then answers.
        defer { settle(bus) }
        let nonce = String(UInt64.random(in: 0 ... .max), radix: 16)
        for way in Way.allCases {
            let name = way.rawValue.filter { $0 != " " }
            let host = "\(nonce)-\(name).\(CallbackInterface.probeDomain)"
            if let reason = obstacle(to: way, bus) {
                add(.probe, .skip, "probe", way.rawValue, reason)
                continue
            }
            if let named, let other = foreignEntry(for: named), way != .bus {
                let reason = translated(
                    "was not tried, because the desktop gives \(named): to \(other) without the router"
                )
                add(.probe, .skip, "probe", way.rawValue, reason)
                continue
            }
            if way != .bus, let local = named.flatMap({ destination(of: $0, host: nil) }), isLocal(local) {
                add(
                    .probe,
                    .skip,
                    "probe",
                    way.rawValue,
                    translated("cannot reach \(local), which is only for your own programs")
                )
                continue
            }
            let outcome = send(way, bus, "\(named?.rawValue ?? "openurl-probe")://\(host)/")
            if way == .xdgOpen, named != nil, case .arrived = outcome { believeProbe() }
            report(way, outcome)
        }
    }

    /// Withdraws the warnings that followed from a desktop's rules, because `xdg-open` has passed the URL to the
    /// router. On KDE, it runs KDE's own program.
    private func believeProbe() {
        let isKDE = files.desktop.currentDesktop.contains("kde")
        withdraw(
            isKDE ? ["xdg-open", "kde"] : ["xdg-open"],
            translated("takes the URLs to openurl, as the probe shows")
        )
    }

    /// Waits until the router has written the files for the desktop.
    private func settle(_ bus: SessionBus) {
        do throws(CallError) {
            try bus.call(RegistryInterface.reload, on: RouterService.object, Empty())
        } catch {
            // The probe itself is over.
        }
    }

    /// Returns why a way cannot be tried; nil if it can.
    private func obstacle(to way: Way, _ bus: SessionBus) -> String? {
        switch way {
        case .bus: nil
        case .gio: files.tool("gio") == nil ? translated("is not installed") : nil
        case .portal: bus.isAvailable(Portal.name) ? nil : translated("is not installed")
        case .xdgOpen:
            if files.tool("xdg-open") == nil {
                translated("is not installed")
            } else if files.desktop.currentDesktop.isEmpty, environment["DISPLAY"] == nil,
                environment["WAYLAND_DISPLAY"] == nil
            {
                translated("opens desktop entries only if DISPLAY or WAYLAND_DISPLAY is set")
            } else {
                nil
            }
        }
    }

    /// Returns the application with which the desktop opens a scheme, unless it is one of the router's entries.
    private func foreignEntry(for scheme: Scheme) -> DesktopFileID? {
        let entry = files.associations.defaultApplication(for: scheme.mimeType, in: files.entries)
        return entry.flatMap { $0.handler == nil ? $0.id : nil }
    }

    private func send(_ way: Way, _ bus: SessionBus, _ url: String) -> ProbeOutcome {
        let probe: Probe
        do {
            probe = try Probe(url, on: bus.address)
        } catch {
            return .notSent(translated("the router does not let the doctor wait for the URL: \(error)"))
        }
        switch way {
        case .bus: return probe.sendOverBus()
        case .portal: return probe.sendToPortal()
        case .gio: return probe.send(with: [files.tool("gio") ?? "gio", "open", url], environment)
        case .xdgOpen: return probe.send(with: [files.tool("xdg-open") ?? "xdg-open", url], environment)
        }
    }

    private func report(_ way: Way, _ outcome: ProbeOutcome) {
        switch outcome {
        case .arrived(let time): add(.probe, .ok, "probe", way.rawValue, translated("arrived in \(time) ms"))
        case .lost(let reason):
            let fix = findings.contains { $0.repair != nil } ? "openurl doctor --fix" : nil
            add(.probe, .fail, "probe", way.rawValue, translated("did not arrive: \(reason)"), fix: fix)
        case .impossible(let reason): add(.probe, .fail, "probe", way.rawValue, reason)
        case .notSent(let reason): add(.probe, .skip, "probe", way.rawValue, reason)
        }
    }
}

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
