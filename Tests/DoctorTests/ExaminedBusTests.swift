import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Processes
import Release
import TestSupport
import Testing

@testable import Doctor

/// The bus, the router, and the variables of both.
@Suite(.timeLimit(.minutes(10))) struct ExaminedBusTests {
    /// The variables of a session whose programs have those of the person.
    private func variables(_ session: ExaminedSession) -> [String] {
        session.variables.map { "\($0.key)=\($0.value)" }
    }

    /// The faults of an examination with a bus.
    private func faults(
        _ names: [BusName] = [RouterService.name],
        about topic: String? = nil,
        _ prepare: (ExaminedSession, inout StandInSession.Answers) throws -> Void = { _, _ in }
    ) async throws -> [Finding] {
        let session = try ExaminedSession()
        session.variables["DISPLAY"] = ":9"
        var answers = StandInSession.Answers()
        answers.variables = variables(session)
        try prepare(session, &answers)
        let standIn = try await StandInSession(names + [SystemdManager.name], answers)
        defer { standIn.stop() }
        return try await standIn.findings(in: session, about: topic).filter(\.isFault)
    }

    @Test(arguments: [nil, "note", "note:1", "com.example.note"])
    func healthySessionHasNoFault(_ topic: String?) async throws {
        let faults = try await faults(about: topic)
        #expect(faults == [])
    }

    // MARK: The router

    @Test func missingBusIsReportedWithTheWayToOne() throws {
        let session = try ExaminedSession()
        func bus() throws -> Finding { try #require(try session.findings(in: [.session]).first { $0.check == "bus" }) }
        let reason = "cannot be reached: no answer came in time"
        let advice = "in a desktop, use one of its terminals; elsewhere, start a shell with its own bus"
        #expect(try bus().message == "\(reason); \(advice)")
        #expect(try bus().fix == #"dbus-run-session -- "${SHELL:-sh}""#)
        // A desktop has a bus, and its programs do not see a router on another one.
        session.variables["DISPLAY"] = ":0"
        #expect(try bus().message == "\(reason); use a new terminal of the desktop, or log in again")
        #expect(try bus().fix == nil)
        session.variables["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/nonexistent"
        #expect(try bus().fix == nil)
        let socket = try session.listen(at: "run/bus")
        defer { close(socket) }
        #expect(try bus().fix == "export DBUS_SESSION_BUS_ADDRESS=unix:path=\(session.path("run/bus"))")
        #expect(try session.findings(in: [.session]).filter(\.isFault).count == 1)
        // The bus that did not answer is no way out.
        session.variables["DBUS_SESSION_BUS_ADDRESS"] = nil
        #expect(try bus().fix == nil)
    }

    @Test func routerThatDoesNotRunIsReported() async throws {
        let standIn = try await StandInSession([], activatable: [])
        defer { standIn.stop() }
        let session = try ExaminedSession()
        let faults = try await standIn.findings(in: session, startsRouter: true).filter { $0.check == "router" }
        #expect(faults.map(\.label) == ["fail router router"])
        #expect(faults.first?.message == "is not running, and the bus has no service file that starts it")
        #expect(faults.first?.fix == "openurld &")
    }

    @Test func routerThatCannotBeStartedIsReportedWithTheReason() async throws {
        let standIn = try await StandInSession([])
        defer { standIn.stop() }
        let session = try ExaminedSession()
        let faults = try await standIn.findings(in: session, startsRouter: true).filter { $0.check == "router" }
        #expect(faults.map(\.label) == ["fail router router"])
        #expect(faults.first?.message.hasPrefix("is not running, and cannot be started: ") == true, "\(faults)")
        #expect(faults.first?.fix == "openurld")
    }

    @Test(
        arguments: [
            (Version.current, Version.current, nil),
            (
                "0.0.1", Version.current,
                "is running version 0.0.1, but the installed openurl is version \(Version.current)"
            ),
            (
                Version.current, "9.9.9",
                "is running version \(Version.current), but the installed openurl is version 9.9.9"
            ),
            ("9.9.9", "9.9.9", "is running version 9.9.9, but the installed openurld is version \(Version.current)"),
            (nil, Version.current, "does not report its version"),
        ] as [(String?, String, String?)]
    )
    func versionsAreCompared(_ running: String?, _ command: String, _ message: String?) async throws {
        let session = try ExaminedSession()
        var answers = StandInSession.Answers()
        answers.version = running
        let standIn = try await StandInSession([RouterService.name], answers)
        defer { standIn.stop() }
        let findings = try await standIn.findings(in: session, commandVersion: command)
        let faults = findings.filter { $0.check == "version" }
        #expect(faults.map(\.message) == [message].compactMap(\.self))
        // This process was started by hand, so the doctor does not end it.
        #expect(faults.allSatisfy { $0.repair == nil && $0.fix == "kill \(getpid())" })
    }

    // MARK: The names of handlers

    /// Registers a handler whose program is the one of this process, which has the name `com.example.typo`.
    ///
    /// - Parameter script: the first argument of the handler.
    private func nameFaults(_ script: String?, _ names: [BusName] = ["com.example.typo"]) async throws -> [Finding] {
        let session = try ExaminedSession(hasHandler: false)
        let program = try #require(ProcessProgram.file(pid: UInt32(getpid())))
        let keys = script.map { "<key>OUArguments</key><array><string>\($0)</string></array>" } ?? ""
        try session.register("com.example.note", program: program, keys: keys)
        try session.publish()
        let standIn = try await StandInSession([RouterService.name] + names)
        defer { standIn.stop() }
        // The stand-in's program is also that of the handler, which no router's is.
        let router = "with the bus name \(RouterService.name),"
        return try await standIn.findings(in: session).filter {
            $0.check == "bus-name" && !$0.message.contains(router)
        }
    }

    @Test(arguments: [nil, "--note", "/nonexistent/script.py"])
    func handlerWithAnotherNameIsNamed(_ script: String?) async throws {
        let faults = try await nameFaults(script)
        #expect(faults.map(\.label) == ["fail bus-name com.example.note"])
        #expect(faults.first?.message.contains("with the bus name com.example.typo") == true, "\(faults)")
    }

    @Test(arguments: [["com.example.note"], ["com.example.typo", "com.example.note"], []] as [[BusName]])
    func handlerWithItsNameIsNot(_ names: [BusName]) async throws {
        let faults = try await nameFaults(nil, names)
        #expect(faults == [])
    }

    /// The program of the handler is an interpreter, which runs another script here.
    @Test func otherScriptOfTheInterpreterIsNoHandler() async throws {
        let directory = try TemporaryDirectory()
        let faults = try await nameFaults(directory.write("", to: "handler.py"))
        #expect(faults == [])
    }

    @Test(arguments: [("any", false), ("/proc/self/exe", false), ("/usr/libexec/openurld", true)])
    func strangerInTheRoutersPlaceIsNamed(_ router: String, _ isStranger: Bool) async throws {
        let faults = try await faults { session, _ in
            session.variables["OPENURL_ROUTER"] = router
            try session.root.write(
                "[D-BUS Service]\nName=org.openurl.Router1\nExec=/usr/libexec/openurld\n",
                to: "share/dbus-1/services/org.openurl.Router1.service"
            )
        }
        #expect(faults.map(\.label) == (isStranger ? ["fail stranger router"] : []))
        #expect(faults.allSatisfy { $0.fix == "kill \(getpid())" })
    }

    /// An update or a removal of openurl may leave the user's service file behind.
    @Test func serviceFileOfTheRouterThatStartsNothingIsNamed() async throws {
        let standIn = try await StandInSession([])
        defer { standIn.stop() }
        let session = try ExaminedSession()
        let text = "[D-BUS Service]\nName=org.openurl.Router1\nExec=/opt/old/openurld\n"
        let name = "dbus-1/services/org.openurl.Router1.service"
        for (directory, isUsers) in [("share", false), ("home/.local/share", true)] {
            let file = try session.root.write(text, to: "\(directory)/\(name)")
            let faults = try await standIn.findings(in: session, startsRouter: true).filter { $0.check == "router" }
            #expect(faults.map(\.label) == ["fail router router"])
            let reason = "is not running, because its service file starts /opt/old/openurld, which does not exist"
            #expect(faults.first?.message == reason)
            #expect(faults.first?.file == file)
            #expect(faults.first?.fix == (isUsers ? "rm \(file)" : nil))
        }
    }

    @Test func maskedUnitIsUnmasked() throws {
        let session = try ExaminedSession()
        let evidence = Evidence(session.files(), .failure(.timedOut), topic: nil, commandVersion: "")
        var findings = Findings()
        let error = RemoteError("org.freedesktop.systemd1.UnitMasked", "Unit openurld.service is masked.")
        RouterCheck(evidence: evidence).reportStartFailure(.remote(error), &findings)
        #expect(findings.all.map(\.fix) == ["systemctl --user unmask openurld.service"])
    }

    // MARK: The installation

    /// An installation below a directory of the session.
    private func install(_ prefix: String, in session: ExaminedSession) throws -> InstalledFiles {
        try session.root.write(
            "[D-BUS Service]\nName=org.openurl.Router1\nExec=/bin/false\n",
            to: "\(prefix)/share/dbus-1/services/org.openurl.Router1.service"
        )
        return InstalledFiles(
            command: try session.writeProgram("\(prefix)/bin/openurl"),
            router: try session.writeProgram("\(prefix)/bin/openurld"),
            share: session.path("\(prefix)/share"),
            handlers: session.path("\(prefix)/share/openurl/handlers")
        )
    }

    @Test func installationInTheUsualPlaceHasNoFault() async throws {
        let session = try ExaminedSession()
        let installation = try install("usr", in: session)
        session.variables["XDG_DATA_DIRS"] = "\(session.path("share")):\(installation.share)"
        session.variables["PATH"] = session.path("usr/bin")
        let standIn = try await StandInSession()
        defer { standIn.stop() }
        let findings = try await standIn.findings(in: session, installation: installation)
        #expect(!findings.contains { ["prefix", "data-dirs"].contains($0.check) }, "\(findings)")
        #expect(findings.first { $0.check == "path" }?.level == .ok)
    }

    @Test func installationThatTheBusDoesNotSeeIsLinked() async throws {
        let session = try ExaminedSession()
        let installation = try install("opt", in: session)
        session.variables["XDG_DATA_DIRS"] = "\(session.path("share")):\(installation.share)"
        let standIn = try await StandInSession([], activatable: [])
        defer { standIn.stop() }
        let findings = try await standIn.findings(in: session, installation: installation)
        let fault = try #require(findings.first { $0.check == "prefix" })
        let link = session.path("home/.local/share/dbus-1/services/org.openurl.Router1.service")
        let target = "\(installation.share)/dbus-1/services/org.openurl.Router1.service"
        #expect(fault.level == .fail && fault.repair == .service(link: link, target: target))
        #expect(fault.fix?.hasSuffix("ln -s \(target) \(link)") == true, "\(fault)")
        #expect(
            try await standIn.perform(.service(link: link, target: target)) == "created the link \(link) to \(target)"
        )
        #expect(
            try session.text("home/.local/share/dbus-1/services/org.openurl.Router1.service").contains("/bin/false")
        )
    }

    @Test func installationOutsideTheListOfDirectoriesIsNamed() async throws {
        let session = try ExaminedSession()
        let installation = try install("opt", in: session)
        let standIn = try await StandInSession()
        defer { standIn.stop() }
        let findings = try await standIn.findings(in: session, installation: installation)
        let fault = try #require(findings.first { $0.check == "data-dirs" })
        #expect(fault.level == .warn && !findings.contains { $0.check == "prefix" })
        #expect(fault.fix == "export XDG_DATA_DIRS=\(session.path("share")):\(installation.share)")
    }

    /// A build that is not installed has no service file, and is no fault.
    @Test func buildWithoutAServiceFileIsNoInstallation() async throws {
        let session = try ExaminedSession()
        let installation = try install("opt", in: session)
        try FileManager.default.removeItem(atPath: installation.share)
        let standIn = try await StandInSession()
        defer { standIn.stop() }
        let findings = try await standIn.findings(in: session, installation: installation)
        #expect(!findings.contains { ["prefix", "data-dirs"].contains($0.check) }, "\(findings)")
    }

    @Test(
        arguments: [
            ("bin", "openurl", nil, .ok), ("usr/bin", "openurl", nil, .ok), ("usr/bin:bin", "openurl", nil, .ok),
            ("bin:usr/bin", "openurl", nil, .warn), ("bin", "link", "usr/bin/openurl", .ok),
            ("empty", "openurl", nil, .ok),
        ] as [(String, String, String?, Finding.Level)]
    )
    func commandIsThatOfPATH(
        _ path: String,
        _ other: String,
        _ target: String?,
        _ level: Finding.Level
    ) async throws {
        let session = try ExaminedSession(hasHandler: false)
        let installation = try install("usr", in: session)
        session.variables["PATH"] = path.split(separator: ":").map { session.path(String($0)) }.joined(separator: ":")
        if let target {
            try session.root.link("bin/openurl", to: session.path(target))
        } else if path.contains(":") {
            try session.writeProgram("bin/\(other)")
        }
        let standIn = try await StandInSession()
        defer { standIn.stop() }
        let findings = try await standIn.findings(in: session, installation: installation)
        #expect(findings.first { $0.check == "path" }?.level == level, "\(findings)")
    }

    // MARK: Variables

    /// A difference between the variables of the person and those of the session.
    struct Difference: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The variables of the person; a value of nil removes the variable. `~` stands for the session's directory.
        var mine: [String: String?] = [:]
        var theirs: [String: String?] = [:]
        let labels: [String]
        var message = ""
    }

    @Test(arguments: [
        Difference(testDescription: "no difference", labels: []),
        Difference(
            testDescription: "slashes at the end",
            mine: ["XDG_DATA_DIRS": "~/share/", "HOME": "~/home/"],
            theirs: ["XDG_DATA_DIRS": "~/share"],
            labels: []
        ),
        Difference(
            testDescription: "the default is written out",
            mine: ["XDG_CONFIG_HOME": "~/home/.config", "XDG_DATA_HOME": "~/home/.local/share"],
            labels: []
        ),
        Difference(
            testDescription: "another order",
            mine: ["XDG_DATA_DIRS": "~/share:~/more"],
            theirs: ["XDG_DATA_DIRS": "~/more:~/share"],
            labels: []
        ),
        Difference(
            testDescription: "the session has more directories",
            theirs: ["XDG_DATA_DIRS": "~/share:/usr/share/gnome"],
            labels: []
        ),
        Difference(
            testDescription: "an empty directory is missing",
            mine: ["XDG_DATA_DIRS": "~/share:~/unused"],
            theirs: ["XDG_DATA_DIRS": "~/share"],
            labels: []
        ),
        Difference(
            testDescription: "a directory with handlers is missing",
            mine: ["XDG_DATA_DIRS": "~/share:~/more"],
            theirs: ["XDG_DATA_DIRS": "~/share"],
            labels: ["fail environment XDG_DATA_DIRS"],
            message: "the session's list lacks ~/more"
        ),
        Difference(testDescription: "no home in the session", theirs: ["HOME": nil], labels: []),
        Difference(testDescription: "no display here", mine: ["DISPLAY": nil], labels: []),
        Difference(testDescription: "an empty display here", mine: ["DISPLAY": ""], labels: []),
        Difference(
            testDescription: "no display in the session",
            theirs: ["DISPLAY": nil],
            labels: ["fail display DISPLAY"],
            message: "is :9 here, but not set for the programs that the router starts"
        ),
        Difference(
            testDescription: "another display in the session",
            mine: ["DISPLAY": "localhost:10.0"],
            labels: ["warn display DISPLAY"],
            message: "is localhost:10.0 here, but :9 for the programs that the router starts"
        ),
        Difference(
            testDescription: "no Wayland in the session",
            mine: ["WAYLAND_DISPLAY": "wayland-0"],
            labels: ["fail display WAYLAND_DISPLAY"],
            message: "is wayland-0 here"
        ),
        Difference(
            testDescription: "another configuration",
            mine: ["XDG_CONFIG_HOME": "~/other"],
            labels: ["fail environment XDG_CONFIG_HOME"],
            message: "points to ~/other here, but to ~/home/.config in the session"
        ),
        Difference(
            testDescription: "other data",
            theirs: ["XDG_DATA_HOME": "~/other"],
            labels: ["fail environment XDG_DATA_HOME"],
            message: "points to ~/home/.local/share here, but to ~/other in the session"
        ),
        Difference(
            testDescription: "another home",
            theirs: ["HOME": "~/other"],
            labels: ["fail environment XDG_DATA_HOME", "fail environment XDG_CONFIG_HOME"],
            message: "points to ~/home/.local/share here"
        ),
        Difference(
            testDescription: "variables that do not matter",
            mine: ["EDITOR": "vi"],
            theirs: ["LANG": "C"],
            labels: []
        ),
    ])
    func variablesOfTheSessionAreCompared(_ difference: Difference) async throws {
        var root = ""
        let faults = try await faults { session, answers in
            root = session.root.path
            try session.root.makeDirectory("more/applications")
            func change(_ variables: inout [String: String], _ changes: [String: String?]) {
                for (name, value) in changes { variables[name] = value?.replacing("~", with: root) }
            }
            var theirs = session.variables
            change(&session.variables, difference.mine)
            change(&theirs, difference.theirs)
            answers.variables = theirs.map { "\($0.key)=\($0.value)" }
        }
        #expect(faults.map(\.label) == difference.labels, "\(faults)")
        guard let first = faults.first else { return }
        #expect(first.message.replacing(root, with: "~").hasPrefix(difference.message), "\(first.message)")
        #expect(first.fix?.hasPrefix("dbus-update-activation-environment --systemd") == true)
    }

    /// Without systemd, the variables of the router's process count.
    @Test func variablesOfTheRouterCountWithoutSystemd() async throws {
        let session = try ExaminedSession()
        session.variables["WAYLAND_DISPLAY"] = "openurl-test"
        let standIn = try await StandInSession()
        defer { standIn.stop() }
        let findings = try await standIn.findings(in: session)
        let fault = try #require(findings.first { $0.subject == "WAYLAND_DISPLAY" })
        // The process was started by hand, and only its own end gives it other variables.
        #expect(fault.fix?.hasPrefix("kill \(getpid()); ") == true && fault.repair == nil, "\(fault)")
    }
}
