import Foundation
import TestSupport
import Testing

@testable import Processes

/// The recognition of sandboxes and labels.
@Suite struct ConfinementTests {
    @Test(arguments: [
        // AppArmor.
        ("unconfined", "unconfined", false), ("/usr/bin/man (enforce)", "unconfined", true),
        ("firefox (unconfined)", "unconfined", false), ("/usr/bin/x (complain)", "unconfined", false),
        ("snap.spotify.spotify (enforce)", "unconfined", true),
        // SELinux.
        (
            "unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023", "unconfined_u:unconfined_r:unconfined_dbusd_t:s0",
            false
        ),
        ("unconfined_u:unconfined_r:thumb_t:s0-s0:c0.c1023", "unconfined_u:unconfined_r:unconfined_t:s0", true),
        ("system_u:system_r:container_t:s0:c1,c2", "unconfined_u:unconfined_r:unconfined_t:s0", true),
        // Smack, or a module of the future.
        ("Browser", "User", true),
    ])
    func labelConfines(label: String, own: String, confines: Bool) {
        #expect(SecurityLabel(label, own: own).confines == confines)
        #expect(!SecurityLabel(label, own: label).confines)
    }

    @Test func processWithoutALabelIsADoubtIfTheRouterHasOne() {
        #expect(SecurityLabel(nil, own: "unconfined").confines)
        #expect(!SecurityLabel(nil, own: nil).confines)
    }

    @Test func snapIsNamedByItsLabel() {
        #expect(SecurityLabel("snap.spotify.spotify (enforce)", own: "unconfined").snap == "spotify")
        #expect(SecurityLabel("/usr/bin/man (enforce)", own: "unconfined").snap == nil)
    }

    @Test(arguments: [
        ("[Application]\nname=org.example.App\nruntime=x\n\n[Instance]\nname=other\n", "org.example.App"),
        ("[Runtime]\nname=org.example.Sdk\n", "org.example.Sdk"),
        ("[Instance]\nname=org.example.App\n", nil), ("name=org.example.App\n", nil), ("", nil),
        ("[Application]\nname=first\nname=second\n", "first"),
    ])
    func flatpakNamesItsApplication(text: String, application: String?) {
        #expect(FlatpakInstance(text)?.application == application)
    }

    /// A process that makes its own sandbox chooses the text.
    @Test func flatpakTextThatIsSlowToCompareNamesNoApplication() {
        let marks = "a" + String(repeating: "\u{301}\u{316}", count: 1 << 17)
        let time = threadTime {
            #expect(FlatpakInstance("[\(marks)]\n[Application]\nname=org.example.App\n") == nil)
        }
        #expect(time < .seconds(2))
    }

    @Test func thisProcessIsNotConfined() {
        #expect(ProcessConfinement(pid: UInt32(getpid())) == nil)
    }

    @Test func processThatCannotBeAskedIsConfined() {
        #expect(ProcessConfinement(pid: .max) != nil)
    }

    /// A sandbox as Flatpak makes it, with the file of its application at the root.
    @Test(arguments: [["--unshare-user"], []])
    func processInASandboxIsConfined(options: [String]) throws {
        let info = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try Data("[Application]\nname=org.example.App\n".utf8).write(to: info)
        defer { unlink(info.path) }
        let sandbox = ChildProcess()
        sandbox.executableURL = URL(filePath: "/usr/bin/bwrap")
        sandbox.arguments =
            options + [
                "--die-with-parent", "--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib", "--symlink",
                "usr/lib64", "/lib64",
                "--symlink", "usr/bin", "/bin", "--proc", "/proc", "--ro-bind", info.path, "/.flatpak-info",
                "/bin/sh", "-c", "echo $$; read line",
            ]
        let (input, output) = (Pipe(), Pipe())
        sandbox.standardInput = input
        sandbox.standardOutput = output
        try sandbox.run()
        defer {
            kill(sandbox.processIdentifier, SIGKILL)
            sandbox.waitUntilExit()
        }
        // The sandbox has the process numbers of the system.
        let text = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        let number = try #require(UInt32(text.dropLast()))
        let confinement = try #require(ProcessConfinement(pid: number))
        #expect(confinement.application == "org.example.App")
    }
}
