import DBus
import Foundation
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

@testable import Doctor

/// The repairs of `openurl doctor --fix`.
@Suite(.timeLimit(.minutes(10))) struct RepairTests {
    private func reason(_ repair: Repair) -> String? {
        do throws(RepairFailure) {
            _ = try repair.perform(nil, environment: [:])
            return nil
        } catch {
            return error.reason
        }
    }

    // MARK: Files

    @Test func cacheIsMadeAgain() throws {
        let session = try ExaminedSession()
        try session.root.write("[MIME Cache]\n", to: "\(ExaminedSession.applications)/mimeinfo.cache")
        let fault = try #require(try session.findings().first { $0.check == "stale-cache" })
        let repair = try #require(fault.repair)
        let directory = session.path(ExaminedSession.applications)
        #expect(repair == .cache(directory: directory))
        #expect(try repair.perform(nil, environment: [:]) == "rebuilt \(directory)/mimeinfo.cache")
        #expect(try session.faults() == [])
        // The repair may be made again.
        #expect(reason(repair) == nil)
    }

    @Test func cacheOfADirectoryThatIsGoneIsAFailure() {
        #expect(reason(.cache(directory: "/nonexistent/applications")) != nil)
    }

    @Test func lostLinkIsRemoved() throws {
        let session = try ExaminedSession()
        try #require(unlink(session.path("home/manifests/com.example.note.plist")) == 0)
        let fault = try #require(try session.findings().first { $0.check == "lost-manifest" })
        let link = session.path("\(ExaminedSession.handlers)/com.example.note.plist")
        #expect(fault.repair == .link(path: link))
        #expect(reason(.link(path: link)) == nil)
        #expect(try !session.findings().contains { $0.check == "lost-manifest" })
        #expect(reason(.link(path: link)) == "\(link) is not a link")
    }

    /// A medium is only unmounted, so nobody wants its handlers to be unregistered.
    @Test(arguments: ["/media/nobody", "/run/media/nobody/stick", "/mnt", "/tmp/.mount_Note"])
    func linkToAMediumIsKept(_ place: String) throws {
        let session = try ExaminedSession()
        try session.root.link("\(ExaminedSession.handlers)/com.example.gone.plist", to: "\(place)/no-such/gone.plist")
        let fault = try #require(try session.findings().first { $0.check == "lost-manifest" })
        #expect(fault.repair == nil && fault.message.hasSuffix("(is its medium mounted?)"))
    }

    /// The target of a link may come back after the examination.
    @Test func linkThatLeadsSomewhereIsNotRemoved() throws {
        let session = try ExaminedSession()
        let link = session.path("\(ExaminedSession.handlers)/com.example.note.plist")
        #expect(reason(.link(path: link)) == "the link \(link) no longer leads nowhere")
        #expect(FileManager.default.fileExists(atPath: link))
    }

    /// A file that took the link's place meanwhile is not removed.
    @Test(arguments: ["file", "directory", "nothing"])
    func onlyALinkIsRemoved(_ kind: String) throws {
        let directory = try TemporaryDirectory()
        switch kind {
        case "file": try directory.write("x", to: "a")
        case "directory": try directory.makeDirectory("a")
        default: break
        }
        #expect(reason(.link(path: "\(directory.path)/a")) == "\(directory.path)/a is not a link")
        #expect(FileManager.default.fileExists(atPath: "\(directory.path)/a") == (kind != "nothing"))
    }

    @Test func serviceIsNotLinkedOverAnotherFile() throws {
        let directory = try TemporaryDirectory()
        let link = try directory.write("mine", to: "services/a.service")
        let reason = reason(.service(link: link, target: "/usr/share/a.service"))
        #expect(reason == "cannot create \(link): File exists")
        #expect(reason.map { $0.contains("/usr/share") } == false)
        let inFile = "\(link)/b.service"
        #expect(self.reason(.service(link: inFile, target: "/x")) == "cannot create \(inFile): Not a directory")
    }

    // MARK: Without a bus

    @Test(arguments: [
        Repair.reload, .quarantine(id: "com.example.note"), .restart(pid: 1 << 30), .environment(["PATH"], router: nil),
    ])
    func repairOfTheRouterNeedsABus(_ repair: Repair) {
        #expect(reason(repair) == "there is no session bus")
    }

    // MARK: With a bus

    @Test(arguments: [
        (Repair.reload, ["reload"], "made the router read its files again"),
        (.quarantine(id: "com.example.note"), ["reset com.example.note"], "lifted the quarantine of com.example.note"),
        (
            .environment(["DISPLAY", "LANG", "UNSET"], router: nil), ["systemd DISPLAY=:9 LANG=C"],
            "gave DISPLAY, LANG, UNSET to the programs that the bus starts"
        ),
    ])
    func routerIsCalled(_ repair: Repair, _ calls: [String], _ sentence: String) async throws {
        let standIn = try await StandInSession([RouterService.name, SystemdManager.name])
        defer { standIn.stop() }
        let variables = ["DISPLAY": ":9", "LANG": "C", "SECRET": "hunter2"]
        #expect(try await standIn.perform(repair, environment: variables) == sentence)
        #expect(standIn.calls == calls)
    }

    @Test(arguments: [(Repair.reload, "Reload"), (.quarantine(id: "com.example.note"), "Reset")])
    func refusalOfTheRouterIsTheReason(_ repair: Repair, _ method: String) async throws {
        var answers = StandInSession.Answers()
        answers.failing = [method]
        let standIn = try await StandInSession([RouterService.name], answers)
        defer { standIn.stop() }
        let failure = await #expect(throws: RepairFailure.self) { try await standIn.perform(repair) }
        #expect(failure?.reason.contains("\(method) fails") == true, "\(failure?.reason ?? "")")
    }

    /// Without systemd, only the bus gets the variables.
    @Test func busGetsTheVariables() async throws {
        let standIn = try await StandInSession()
        defer { standIn.stop() }
        let sentence = try await standIn.perform(.environment(["DISPLAY"], router: nil), environment: ["DISPLAY": ":9"])
        #expect(sentence == "gave DISPLAY to the programs that the bus starts")
        #expect(standIn.calls == [])
    }

    @Test func routerThatIsGoneCannotBeEnded() async throws {
        let standIn = try await StandInSession()
        defer { standIn.stop() }
        // No process has a number above the kernel's limit of 2²².
        let failure = await #expect(throws: RepairFailure.self) {
            try await standIn.perform(.restart(pid: 1 << 30))
        }
        #expect(failure?.reason == "cannot end the router: No such process")
    }

    // MARK: The advice

    /// Each fault that `--fix` repairs is gone afterwards, and nothing new is wrong.
    @Test(arguments: [
        FileChange("the cache is empty") {
            try $0.root.write("[MIME Cache]\n", to: "\(ExaminedSession.applications)/mimeinfo.cache")
        },
        FileChange("the cache is missing") {
            try #require(unlink($0.path("\(ExaminedSession.applications)/mimeinfo.cache")) == 0)
        },
        FileChange("another manifest was moved") { session in
            try session.root.link("\(ExaminedSession.handlers)/com.example.gone.plist", to: "/nonexistent/a.plist")
        },
        FileChange("both") { session in
            try session.root.write("[MIME Cache]\n", to: "\(ExaminedSession.applications)/mimeinfo.cache")
            try session.root.link("\(ExaminedSession.handlers)/com.example.gone.plist", to: "/nonexistent/a.plist")
        },
    ])
    func repairsEndTheFaults(_ change: FileChange) throws {
        let session = try ExaminedSession()
        try change.perform(session)
        let faults = try session.findings().filter(\.isFault)
        #expect(!faults.isEmpty && faults.allSatisfy { $0.repair != nil }, "\(faults)")
        for repair in faults.compactMap(\.repair) { #expect(reason(repair) == nil) }
        #expect(try session.faults() == [])
    }
}
