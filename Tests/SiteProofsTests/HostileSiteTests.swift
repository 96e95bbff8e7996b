import Foundation
import HostileSites
import TestSupport
import Testing
import WebLinks

/// `openurl-proofs` and sites that lie about apps: real servers, with certificates of a private authority.
@Suite(.timeLimit(.minutes(10))) final class HostileSiteTests {
    private static let app = "com.example.app"
    private static let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().appending(path: "openurl-proofs")
    private let servers: HostileSites

    init() throws { servers = try HostileSites() }

    private func run(_ arguments: [String]) throws -> (output: String, errors: String, status: Int32) {
        let process = ChildProcess()
        let (output, errors) = (Pipe(), Pipe())
        process.executableURL = Self.program
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = errors
        // None of these may lead the program elsewhere.
        process.environment = [
            "https_proxy": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1", "HOME": servers.directory.path,
            "SSL_CERT_FILE": "/nonexistent",
        ]
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let problem = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (text, problem, process.terminationStatus)
    }

    private func ask(_ site: String, _ options: [String] = []) throws -> SiteAnswer? {
        let port = servers.port(of: site)
        let host = "\(site).sites.example"
        let (output, errors, status) = try run(
            [
                "--private", "--authorities", "\(servers.directory.path)/authority.pem", "--connect-to",
                "127.0.0.1:\(port)",
                "--milliseconds", "2000",
            ] + options + [host, Self.app]
        )
        #expect(status == 0 && errors.isEmpty, "\(site): \(status) \(errors)")
        return SiteAnswer(bytes: Array(output.utf8), from: try WebHost(host), about: [Self.app])
    }

    @Test func onlyHonestSitesGiveAnything() throws {
        let sites = try HostileSites.all.get()
        #expect(sites.count > 100)
        for site in sites {
            let answer = try ask(site[0])
            let word: String
            switch answer?.outcome {
            case .file(let apps):
                let rules = apps[Self.app]?.rules.lines ?? []
                if !rules.isEmpty { #expect(rules == ["- /notes/admin/*", "+ /notes/*"], "\(site[0])") }
                word = rules.isEmpty ? "nothing" : "file"
            case .noFile: word = "none"
            case .unreachable: word = "unreachable"
            case nil: word = "no answer"
            }
            #expect(word == site[1], "\(site[0]): \(String(describing: answer?.outcome))")
        }
        // A site learns nothing but that it was asked, and gets back nothing that it has sent.
        for request in try servers.requests where request.hasPrefix("request ") {
            let headers = request.split(separator: "|").dropFirst().map {
                $0.split(separator: ":")[0].trimmingCharacters(in: .whitespaces)
            }
            #expect(headers == ["Host", "User-Agent", "Accept"], "\(request)")
        }
    }

    @Test func changingSiteIsTakenAtItsLastWord() throws {
        guard case .file(let first)? = try ask("changing")?.outcome,
            case .file(let second)? = try ask("changing")?.outcome
        else {
            Issue.record("the site has no file")
            return
        }
        #expect(first[Self.app]?.rules.lines.isEmpty == false && second.isEmpty)
    }

    /// Names that lead to this machine or its network, whichever of them the name service gives, and whatever the site's
    /// certificate is.
    @Test(arguments: [
        "127.0.0.1", "127.1.2.3", "10.0.0.1", "169.254.169.254", "192.168.1.1", "172.16.0.1", "100.64.0.1", "0.0.0.0",
        "[::1]", "[::ffff:127.0.0.1]", "[fe80::1]", "[fd00::1]", "[64:ff9b::7f00:1]", "127.0.0.1,10.0.0.1",
    ])
    func privateAddressIsRefused(_ address: String) throws {
        let (output, _, status) = try run(["--addresses", address, "good.sites.example", Self.app])
        #expect(status == 0)
        #expect(output.contains("\nunreachable the host has no address in the public Internet\n"), "\(output)")
        #expect(try servers.requests.isEmpty)
    }

    @Test func connectionToAPrivateAddressIsRefusedToo() throws {
        let port = servers.port(of: "*")
        let (output, _, _) = try run([
            "--authorities", "\(servers.directory.path)/authority.pem", "--connect-to", "127.0.0.1:\(port)",
            "good.sites.example",
            Self.app,
        ])
        #expect(output.contains("\nunreachable the host has no address in the public Internet\n"), "\(output)")
        #expect(try servers.requests.isEmpty)
    }

    @Test func authorityOfTheSystemIsNeeded() throws {
        let (output, _, _) = try run([
            "--private", "--connect-to", "127.0.0.1:\(servers.port(of: "*"))", "good.sites.example", Self.app,
        ])
        #expect(output.contains("\nunreachable "), "\(output)")
    }

    @Test(arguments: [
        [], ["example.com"], ["localhost", app], ["127.0.0.1", app], ["example.com:443", app], ["a@example.com", app],
        ["example.com."], ["example.com/x", app], ["https://example.com", app], ["--unknown", "x", "example.com", app],
        ["--milliseconds", "0", "example.com", app], ["example.com"] + Array(repeating: app, count: 17),
    ])
    func wrongCommandLineAsksNobody(_ arguments: [String]) throws {
        let (output, errors, status) = try run(arguments)
        #expect(status == 64 && output.isEmpty && errors.hasPrefix("openurl-proofs: "))
    }
}
