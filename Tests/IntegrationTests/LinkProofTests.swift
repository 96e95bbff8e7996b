import DBus
import Foundation
import HostileSites
import OpenURLBus
import TestSupport
import Testing

private let program = RouterProcess.products.appending(path: "openurl-proofs").path
private let isProgramBuilt = FileManager.default.isExecutableFile(atPath: program)

/// The links to web pages that handlers get from the real router, with the real program that asks real sites. The sites are
/// those of `Tests/HostileSites`.
@Suite(.timeLimit(.minutes(10)), .enabled(if: isProgramBuilt, "openurl-proofs is not built"))
struct LinkProofTests {
    private static let app = "com.example.app"
    private static let browser = "browser.desktop"
    /// Sites that lie about apps, as long as this object exists.
    private final class Sites {
        private let sites: HostileSites

        init() throws {
            sites = try HostileSites()
            try write(
                """
                case $1 in
                plain.*) port=\(sites.port(of: "plain")) ;;
                old-tls.*) port=\(sites.port(of: "old-tls")) ;;
                silent-before-tls.*) port=\(sites.port(of: "silent-before-tls")) ;;
                *) port=\(sites.port(of: "*")) ;;
                esac
                exec \(program) --private --authorities \(sites.directory.path)/authority.pem \
                    --connect-to 127.0.0.1:$port --milliseconds 2000 "$@"
                """
            )
        }

        /// The program that the router runs.
        var asker: String { "\(sites.directory.path)/asker" }

        func write(_ body: String) throws {
            try writeProgram("#!/bin/sh\n\(body)\n", to: asker)
        }

        /// The number of connections so far.
        var connections: Int { get throws { try sites.requests.count { $0 == "connection" } } }
    }

    private static let expectations = Result { try HostileSites.all.get().filter { $0[0] != "changing" } }

    private func router(_ hosts: [String], asker: String) async throws -> RouterProcess {
        try await RouterProcess(variables: ["OPENURL_PROOFS": asker]) { directory in
            try RouterProcess.write(Self.app, [], in: directory, extra: ["OUAssociatedDomains": hosts])
            let applications = directory.appending(path: "XDG_DATA_HOME/applications")
            try FileManager.default.createDirectory(at: applications, withIntermediateDirectories: true)
            let lines = [
                "[Desktop Entry]", "Type=Application", "Name=Browser", "Exec=true %u",
                "MimeType=x-scheme-handler/https;",
            ]
            try (lines.joined(separator: "\n") + "\n")
                .write(to: applications.appending(path: Self.browser), atomically: true, encoding: .utf8)
        }
    }

    private func ask(_ router: RouterProcess) async throws {
        try await router.connection.call(ProofsInterface.fetch, on: RouterService.object, "", timeout: .seconds(300))
    }

    /// Every site is asked, and then links to it are opened. Only the apps of honest sites get any.
    @Test(arguments: 0..<4) func noSiteBringsAboutAWrongHandOver(part: Int) async throws {
        let all = try Self.expectations.get()
        let sites = all.enumerated().filter { $0.offset % 4 == part }.map(\.element)
        #expect(sites.count <= 32 && all.count > 100)
        let servers = try Sites()
        let router = try await router(sites.map { "\($0[0]).sites.example" }, asker: servers.asker)
        defer { router.stop() }
        try await ask(router)
        let before = try servers.connections
        #expect(before >= sites.count)
        for site in sites {
            let root = "https://\(site[0]).sites.example"
            let right = site[1] == "file" ? Self.app : Self.browser
            #expect(try await router.open("\(root)/notes/1").handler == right, "\(site[0])")
            for path in ["/", "/notes", "/notes/admin/1", "/notes/../admin", "/notes/%2e%2e/x", "//notes/1"] {
                #expect(try await router.open(root + path).handler == Self.browser, "\(site[0])\(path)")
            }
        }
        #expect(try servers.connections == before)
        withExtendedLifetime(servers) {}
    }

    /// The server counts its connections, whatever is opened.
    @Test func openedLinksCauseNoConnection() async throws {
        let servers = try Sites()
        let router = try await router(["good.sites.example", "gone.sites.example"], asker: servers.asker)
        defer { router.stop() }
        try await ask(router)
        let before = try servers.connections
        for number in 0..<100 {
            #expect(try await router.open("https://good.sites.example/notes/\(number)").handler == Self.app)
            #expect(try await router.open("https://gone.sites.example/notes/\(number)").handler == Self.browser)
        }
        #expect(try servers.connections == before)
        withExtendedLifetime(servers) {}
    }

    @Test func siteThatNoLongerNamesTheAppEndsTheProofAtOnce() async throws {
        let servers = try Sites()
        let router = try await router(["changing.sites.example"], asker: servers.asker)
        defer { router.stop() }
        let url = "https://changing.sites.example/notes/1"
        // At its start, the router asks by itself.
        try await eventually(try await router.open(url).handler) { $0 == Self.app }
        try await ask(router)
        #expect(try await router.open(url).handler == Self.browser)
        withExtendedLifetime(servers) {}
    }

    @Test(arguments: [
        "echo garbage", "kill -9 $$", "exit 1", ":", "exec /nonexistent", "echo openurl-proofs 1",
        #"printf 'openurl-proofs 1\nhost other.example\nfile\napp com.example.app\n+ /*\nend\n'"#,
        #"printf 'openurl-proofs 1\nhost good.sites.example\nfile\napp com.example.app\n+ /*\nend\n'; exit 3"#,
        #"printf 'openurl-proofs 1\nhost good.sites.example\nfile\napp com.example.app\n+ /*\nend\nmore\n'"#,
        #"echo warning >&2; printf 'openurl-proofs 1\nhost good.sites.example\nfile\napp com.example.app\n+ /*\nend\n'"#,
        "head -c 60000 /dev/zero",
    ])
    func programThatGivesNoAnswerGivesNoLink(_ body: String) async throws {
        let servers = try Sites()
        try servers.write(body)
        let router = try await router(["good.sites.example"], asker: servers.asker)
        defer { router.stop() }
        try await ask(router)
        #expect(try await router.open("https://good.sites.example/notes/1").handler == Self.browser)
        let run = try await router.openurl("links", "proofs")
        #expect(run.status == 0 && run.output.contains("openurl-proofs gave no answer"), "\(run)")
        withExtendedLifetime(servers) {}
    }

    /// Two programs that do not end are killed when their time is over, and the router opens links meanwhile.
    @Test func programThatHangsIsKilled() async throws {
        let servers = try Sites()
        try servers.write("case $1 in good.*) exec sleep 600;; *) exec yes;; esac")
        let router = try await router(["good.sites.example", "gone.sites.example"], asker: servers.asker)
        defer { router.stop() }
        async let asked: Void = ask(router)
        for host in ["good", "gone"] {
            #expect(try await router.open("https://\(host).sites.example/notes/1").handler == Self.browser)
        }
        try await asked
        #expect(try await router.open("https://good.sites.example/notes/1").handler == Self.browser)
        withExtendedLifetime(servers) {}
    }

    @Test(arguments: ["", "/nonexistent/openurl-proofs"]) func withoutTheProgramOnlyThePersonDecides(asker: String)
        async throws
    {
        let router = try await router(["good.sites.example"], asker: asker)
        defer { router.stop() }
        let url = "https://good.sites.example/notes/1"
        #expect(try await router.open(url).handler == Self.browser)
        #expect(try await router.openurl("links", "ask").status != 0)
        #expect(
            try await router.openurl("links", "proofs").output.contains(
                "openurl-proofs, which asks sites, is not installed"
            )
        )
        #expect(try await router.openurl("links", "allow", "good.sites.example", Self.app).status == 0)
        #expect(try await router.open(url).handler == Self.app)
        #expect(try await router.openurl("--browser", url).status == 0)
        #expect(try router.log(of: Self.app).filter { $0.contains(url) }.count == 1)
        #expect(try await router.openurl("links", "revoke", "good.sites.example").status == 0)
        #expect(try await router.open(url).handler == Self.browser)
        #expect(try await router.openurl("links", "reset", "good.sites.example").status == 0)
        let wrong = try await router.openurl("links", "allow", "localhost", Self.app)
        #expect(wrong.status != 0 && wrong.errors.contains("leads to this machine"))
    }

    @Test func schemesOfBrowsersCannotBeClaimed() async throws {
        let router = try await RouterProcess { directory in
            let types = [["CFBundleURLSchemes": ["https", "http", "app"], "OUHosts": ["example.com"]]]
            try RouterProcess.write(Self.app, [], in: directory, extra: ["CFBundleURLTypes": types])
        }
        defer { router.stop() }
        #expect(try await router.schemes()["https"]?.contains(Self.app) != true)
        #expect(try await router.failure("https://example.com/").code == .noHandler)
    }
}
