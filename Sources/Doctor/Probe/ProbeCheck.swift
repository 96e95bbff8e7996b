internal import DBus
internal import Desktop
internal import OpenURLBus
internal import SchemeRegistry
internal import Translations

/// Sends a URL in each way, and reports how long it takes to arrive.
///
/// The URL's host has random digits. This process takes the handler's place only for this host, with a claim that ends
/// with the probe or with the process.
struct ProbeCheck: Check {
    let evidence: Evidence

    /// The ways in which programs open URLs.
    private enum Way: String, CaseIterable {
        case bus
        case xdgOpen = "xdg-open"
        case gio = "gio open"
        case portal
    }

    func perform(_ findings: inout Findings) {
        guard let bus = evidence.routerBus else {
            return findings.add(.probe, .skip, "probe", "probe", translated("without a router, no URL can arrive"))
        }
        let named = topic?.schemes.first
        if let named, BrowserCheck.webSchemes.contains(named.rawValue) {
            return findings.add(
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
                findings.add(.probe, .skip, "probe", way.rawValue, reason)
                continue
            }
            if let named, let other = foreignEntry(for: named), way != .bus {
                let reason = translated(
                    "was not tried, because the desktop gives \(named): to \(other) without the router"
                )
                findings.add(.probe, .skip, "probe", way.rawValue, reason)
                continue
            }
            if way != .bus, let local = named.flatMap({ files.destination(of: $0, host: nil) }), files.isLocal(local) {
                findings.add(
                    .probe,
                    .skip,
                    "probe",
                    way.rawValue,
                    translated("cannot reach \(local), which is only for your own programs")
                )
                continue
            }
            let outcome = send(way, bus, "\(named?.rawValue ?? "openurl-probe")://\(host)/")
            if way == .xdgOpen, named != nil, case .arrived = outcome { believeProbe(&findings) }
            report(way, outcome, &findings)
        }
    }

    /// Withdraws the warnings that followed from a desktop's rules, because `xdg-open` has passed the URL to the
    /// router. On KDE, it runs KDE's own program.
    private func believeProbe(_ findings: inout Findings) {
        let isKDE = files.desktop.currentDesktop.contains("kde")
        findings.withdraw(
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

    private func report(_ way: Way, _ outcome: ProbeOutcome, _ findings: inout Findings) {
        switch outcome {
        case .arrived(let time): findings.add(.probe, .ok, "probe", way.rawValue, translated("arrived in \(time) ms"))
        case .lost(let reason):
            let fix = findings.all.contains { $0.repair != nil } ? "openurl doctor --fix" : nil
            findings.add(.probe, .fail, "probe", way.rawValue, translated("did not arrive: \(reason)"), fix: fix)
        case .impossible(let reason): findings.add(.probe, .fail, "probe", way.rawValue, reason)
        case .notSent(let reason): findings.add(.probe, .skip, "probe", way.rawValue, reason)
        }
    }
}
