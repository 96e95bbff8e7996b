import DBus
import Foundation
import OpenURLBus
import SchemeRegistry
import Testing

@testable import URLRouter

/// The rights of each class of callers.
@Suite(.timeLimit(.minutes(10))) struct RightsTests {
    /// A router, and one caller of each class except a remote one: real processes, which the test's bus gives the connections.
    private final class Programs {
        static let handler: BusName = ":1.81"
        static let sandbox: BusName = ":1.82"
        static let unknown: BusName = ":1.83"

        let router: URLRouter
        private let child: RunningProcess
        private let sandboxed: RunningProcess

        init() async throws {
            let child = try RunningProcess()
            let sandboxed = try RunningProcess(wrapper: ["/usr/bin/unshare", "--user"])
            try await sandboxed.waitUntilItRuns()
            let bus = try FakeHandlers(
                ["com.example.app": Self.handler],
                processes: [Self.handler: child.pid, Self.sandbox: sandboxed.pid, Self.unknown: .max]
            )
            router = URLRouter(
                [try .test("com.example.app"), try .test("com.example.other")],
                on: bus,
                examine: { _, _, _ in .descends }
            )
            _ = await router.status()
            self.child = child
            self.sandboxed = sandboxed
        }

        func connection(of callerClass: CallerClass) -> BusName? {
            switch callerClass {
            case .handler: Self.handler
            case .user: ownConnection
            case .sandboxed: Self.sandbox
            case .unknown: Self.unknown
            case .remote: nil
            }
        }

        func end() {
            child.end()
            sandboxed.end()
        }
    }

    @Test func callersHaveTheirClasses() async throws {
        let callers = try await Programs()
        defer { callers.end() }
        for callerClass in CallerClass.allCases {
            guard let connection = callers.connection(of: callerClass) else { continue }
            #expect(await callers.router.callerClass(connection) == callerClass)
        }
    }

    /// Every method and every class: the check before the method decides as the table says.
    @Test func checkFollowsTheTable() async throws {
        let callers = try await Programs()
        defer { callers.end() }
        for (interface, methods) in Rights.table {
            for (method, rights) in methods {
                for callerClass in CallerClass.allCases {
                    guard let connection = callers.connection(of: callerClass) else { continue }
                    var isAllowed = true
                    do throws(OpenURLError) {
                        try await callers.router.check(connection, of: method, interface)
                    } catch {
                        #expect(error.code == .notAllowed)
                        isAllowed = false
                    }
                    #expect(isAllowed == (rights[callerClass] != .no), "\(interface).\(method) \(callerClass)")
                }
            }
        }
    }

    /// The installed descriptions are those of the exported interfaces (`InterfaceFileTests`).
    @Test func everyExportedMethodHasAnEntry() throws {
        let directory = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "../../Packaging/interfaces"
        )
        var described: [InterfaceName: Set<MemberName>] = [:]
        for file in try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil) {
            guard let interface = InterfaceName(file.deletingPathExtension().lastPathComponent),
                interface != HandlerInterface.name
            else { continue }
            let text = try String(contentsOf: file, encoding: .utf8)
            let methods = text.matches(of: /<method name="(\w+)"/).compactMap { MemberName(String($0.1)) }
            described[interface] = Set(methods)
        }
        #expect(described.count >= 4)
        var table = Rights.table.mapValues { Set($0.keys) }
        // The interface of freedesktop.org is described by its own documents.
        table[FreedesktopApplication.name] = nil
        #expect(described == table)
    }

    @Test func methodWithoutAnEntryMayNotBeCalled() async throws {
        let callers = try await Programs()
        defer { callers.end() }
        await #expect(throws: OpenURLError.self) {
            try await callers.router.check(ownConnection, of: "Other", RouterInterface.name)
        }
    }

    @Test func handlerMayDoThingsToItselfOnly() async throws {
        let callers = try await Programs()
        defer { callers.end() }
        let router = callers.router
        let (own, other) = ("com.example.app", "com.example.other")
        try await router.check(Programs.handler, for: own)
        for id in [other, ""] {
            await #expect(throws: OpenURLError(.notAllowed, "com.example.app may do this only to itself")) {
                try await router.check(Programs.handler, for: id)
            }
        }
        for id in [own, other] { try await router.check(ownConnection, for: id) }
        // The answer does not say whether the handler exists.
        for id in [own, "com.example.missing"] {
            await #expect(throws: OpenURLError(.notAllowed, "this program may do this only to itself")) {
                try await router.check(Programs.sandbox, for: id)
            }
        }
    }

    /// A sandbox that says that it is the handler's application is not the handler.
    @Test func onlyTheHandlerItselfActsAsIt() async throws {
        let callers = try await Programs()
        defer { callers.end() }
        let router = callers.router
        let (own, other) = ("com.example.app", "com.example.other")
        try await router.check(Programs.handler, actingAs: own)
        for id in [own, other] { try await router.check(ownConnection, actingAs: id) }
        for (caller, id) in [
            (Programs.handler, other), (Programs.handler, ""), (Programs.sandbox, own), (Programs.sandbox, ""),
            (Programs.unknown, own),
        ] {
            let error = await #expect(throws: OpenURLError.self) { try await router.check(caller, actingAs: id) }
            #expect(error?.code == .notAllowed)
        }
    }

    @Test func listsShowACallerItselfOnly() async throws {
        let callers = try await Programs()
        defer { callers.end() }
        #expect(await callers.router.status(for: ownConnection).count == 2)
        #expect(await callers.router.status(for: Programs.handler).map(\.id) == ["com.example.app"])
        #expect(await callers.router.status(for: Programs.sandbox) == [])
    }

    @Test func errorsTellASandboxNoPathsAndNoHandlers() async throws {
        let callers = try await Programs()
        defer { callers.end() }
        for (url, message) in [
            ("other:x", "the handler could not be started"),
            ("nobody:x", "no handler that this program can reach claims the URL"),
        ] {
            // A process of a sandbox can inherit a connection. Once the process that made it has exited, nobody knows whose
            // it is.
            for caller in [Programs.sandbox, Programs.unknown] {
                let error = await failure { () throws(OpenURLError) in
                    try await callers.router.open(url, from: caller)
                }
                #expect(error?.message == message)
            }
        }
    }

    @Test func sandboxAsksAboutNoSchemeThatItsManifestDoesNotDeclare() async throws {
        let callers = try await Programs()
        defer { callers.end() }
        for url in ["other:x", "nobody:x"] {
            #expect(try await !callers.router.canOpen(url, caller: Programs.sandbox))
            await #expect(throws: OpenURLError.self) {
                try await callers.router.explain(url, OpenOptions(), caller: Programs.sandbox)
            }
        }
    }

    // MARK: The document

    /// `Documentation/Rights.md` is made from the table. Set `OPENURL_WRITE_REFERENCE` to write it.
    @Test func documentHasTheTable() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Documentation/Rights.md")
        let text = Self.document
        if ProcessInfo.processInfo.environment["OPENURL_WRITE_REFERENCE"] != nil {
            try Data(text.utf8).write(to: file)
        }
        let committed = try String(contentsOf: file, encoding: .utf8)
        #expect(committed == text, "write the file again with OPENURL_WRITE_REFERENCE=1")
    }

    private static var document: String {
        var lines = [
            "# The rights of callers", "",
            "Before a method does anything, the router checks whether callers of that class may use it. The router determines the class",
            "itself. This file is made from the table in `Sources/URLRouter/Trust/Rights.swift`. [SECURITY.md](../SECURITY.md#who-calls)",
            "describes the classes.", "",
            "| right | meaning |", "|---|---|",
            "| yes | The caller may use the method without restriction. |",
            "| own | The caller may use the method for its own handler, requests, queued URLs and background tasks. |",
            "| declared | The caller may ask about the schemes that the manifest with its identifier lists in `LSApplicationQueriesSchemes`. |",
            "| reachable | The caller can reach the handlers that `OUReach`, `OUAllowedSources` and the policy let it reach. |",
            "| no | The caller may not use the method, and gets the same answer for every argument. |",
        ]
        for (interface, methods) in Rights.table.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            lines += [
                "", "## `\(interface)`", "", "| method | user | handler | sandboxed, remote | unknown |",
                "|---|---|---|---|---|",
            ]
            for (method, rights) in methods.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                lines.append(
                    "| `\(method)` | \(rights.user.rawValue) | \(rights.handler.rawValue) | \(rights.confined.rawValue) "
                        + "| \(rights.unknown.rawValue) |"
                )
            }
        }
        return lines.joined(separator: "\n") + "\n"
    }
}
