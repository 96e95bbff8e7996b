import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Testing

@testable import Doctor

/// The URLs that the probe does not send. Tests/IntegrationTests sends URLs through a router.
@Suite(.timeLimit(.minutes(10))) struct ProbeTests {
    private func probes(
        _ names: [BusName] = [RouterService.name],
        about topic: String? = nil,
        _ prepare: (ExaminedSession) throws -> Void = { _ in }
    ) async throws -> [String: Finding] {
        let session = try ExaminedSession()
        try prepare(session)
        let standIn = try await StandInSession(names)
        defer { standIn.stop() }
        let findings = try await standIn.findings(in: session, about: topic, probes: true).filter { $0.part == .probe }
        return Dictionary(findings.map { ($0.subject, $0) }) { first, _ in first }
    }

    @Test func withoutARouterNothingIsSent() async throws {
        let probes = try await probes([])
        #expect(probes.keys.sorted() == ["probe"])
        #expect(probes["probe"]?.level == .skip)
    }

    @Test(arguments: ["http", "https://example.com", "HTTPS"])
    func webPagesAreLeftToTheBrowser(_ topic: String) async throws {
        let probes = try await probes(about: topic)
        #expect(probes.count == 1)
        #expect(probes.values.first?.message == "belongs to the browser, which no program can stand in for")
    }

    /// The stand-in has no callbacks, so no URL is sent. Programs that are not installed are skipped before.
    @Test func routerWithoutCallbacksGetsNoURL() async throws {
        let probes = try await probes()
        #expect(probes.keys.sorted() == ["bus", "gio open", "portal", "xdg-open"])
        #expect(probes.values.allSatisfy { $0.level == .skip })
        #expect(probes["bus"]?.message.hasPrefix("the router does not let the doctor wait for the URL: ") == true)
        #expect(probes["gio open"]?.message == "is not installed")
        #expect(probes["xdg-open"]?.message == "is not installed")
        #expect(probes["portal"]?.message == "is not installed")
    }

    @Test(arguments: [
        ([:], true), (["DISPLAY": ":9"], false), (["WAYLAND_DISPLAY": "w"], false),
        (["XDG_CURRENT_DESKTOP": "GNOME"], false),
    ])
    func programsOfXDGNeedADesktop(_ variables: [String: String], _ isObstacle: Bool) async throws {
        let probes = try await probes { session in
            session.variables.merge(variables) { $1 }
            try session.writeProgram("bin/xdg-open")
        }
        let message = try #require(probes["xdg-open"]?.message)
        #expect(message.hasPrefix("opens desktop entries only if DISPLAY") == isObstacle, "\(message)")
    }

    @Test func desktopIsNoWayToAHandlerOfTheUsersPrograms() async throws {
        let probes = try await probes(about: "local") { session in
            try session.writeProgram("bin/gio", "#!/bin/sh\ntouch \(session.path("started"))\n")
            try session.register(
                "com.example.local",
                schemes: ["local"],
                keys: "<key>OUReach</key><string>local</string>"
            )
            try session.publish()
        }
        let reason = "cannot reach com.example.local, which is only for your own programs"
        #expect(probes["gio open"]?.message == reason)
    }

    /// The rules of a desktop are only a guess at what its program does.
    @Test func probeCountsMoreThanRules() throws {
        let session = try ExaminedSession()
        session.variables["XDG_CURRENT_DESKTOP"] = "KDE"
        try session.writeEntry("app")
        let files = session.files()
        let topic = try #require(Topic("note", files))
        let evidence = Evidence(files, .failure(.timedOut), topic: topic, commandVersion: "")
        var findings = Examination(of: evidence, probing: false).findings
        func levels(_ findings: Findings) -> [Finding.Level] {
            findings.all.filter { $0.check == "kde" }.map(\.level)
        }
        #expect(levels(findings) == [.warn])
        findings.withdraw(["xdg-open"], "arrived")
        #expect(levels(findings) == [.warn])
        findings.withdraw(["xdg-open", "kde"], "arrived")
        #expect(levels(findings) == [.ok])
    }

    /// The desktop gives the URLs to an application without the router, which the doctor does not start.
    @Test func applicationIsNotStarted() async throws {
        let probes = try await probes(about: "note") { session in
            try session.writeProgram("bin/gio", "#!/bin/sh\ntouch \(session.path("started"))\n")
            try session.writeEntry("app", opening: ["note"])
            try session.choose("x-scheme-handler/note=app.desktop")
        }
        #expect(
            probes["gio open"]?.message
                == "was not tried, because the desktop gives note: to app.desktop without the router"
        )
    }
}
