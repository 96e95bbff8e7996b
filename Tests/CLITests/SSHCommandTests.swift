import TestSupport
import Testing

/// `openurl ssh` with a program in place of ssh. The integration tests have a real one.
@Suite(.timeLimit(.minutes(10))) struct SSHCommandTests {
    /// Logs in.
    ///
    /// - Parameter login: the lines of shell that make the connection. The session after it ends with 5.
    private func ssh(login: String) async throws -> CommandRun {
        let directory = try TemporaryDirectory()
        try writeProgram(
            "#!/bin/sh\ncase \" $* \" in\n*' -M '*)\n\(login)\n;;\n*) exit 5 ;;\nesac\n",
            to: "\(directory.path)/ssh"
        )
        let variables = ["PATH": "\(directory.path):/usr/bin:/bin", "XDG_RUNTIME_DIR": directory.path]
        return try await openurl(["ssh", "box", "true"], environment: noBus.merging(variables) { $1 })
    }

    @Test(arguments: ["openurl-far none", "openurl-far x86_64 /tmp/a,b no"])
    func sessionBeginsWithoutADirectoryThere(_ answer: String) async throws {
        let run = try await ssh(login: "echo Welcome; echo \(answer); read -r n")
        #expect(run.status == 5)
        #expect(
            run.errors == "openurl: warning: box has no directory that openurl can use, so its URLs stay there\n"
        )
    }

    @Test func loginWithoutAnAnswerIsReported() async throws {
        let run = try await ssh(login: "echo This account is not available.; exit 1")
        #expect(run.status == 255)
        #expect(
            run.errors
                == "openurl: box ended the connection without an answer; can you run commands there with ssh?\n"
        )
        // ssh has its own words for these.
        let failed = try await ssh(login: "echo ssh: no route to host >&2; exit 255")
        #expect(failed.status == 255 && failed.errors == "ssh: no route to host\n", "\(failed)")
    }

    /// ssh may wait for a password, or for a machine that does not answer.
    @Test(arguments: [("HUP", 1), ("INT", 2), ("TERM", 15)] as [(String, Int32)])
    func commandEndsDuringTheLogin(name: String, signal: Int32) async throws {
        let run = try await ssh(login: "kill -\(name) $PPID; exec sleep 600")
        #expect(run.status == 128 + signal && run.errors == "", "\(run)")
    }

    @Test func commandEndsWhileTheOtherMachineTakesNothing() async throws {
        // The pipe has no room for the program that is sent. The signal comes after the first byte.
        let login = """
            exec python3 -c '
            import fcntl, os, select, signal
            fcntl.fcntl(0, fcntl.F_SETPIPE_SZ, 4096)
            print("openurl-far", os.uname().machine, "/tmp/x", "no", flush=True)
            os.read(0, 1)
            os.kill(os.getppid(), signal.SIGTERM)
            end = select.poll()
            end.register(0, 0)
            end.poll()
            '
            """
        let run = try await ssh(login: login)
        #expect(run.status == 128 + 15 && run.errors == "", "\(run)")
    }

    @Test func signalsKeepNoConnectionOpen() async throws {
        let signals = "for i in 1 2 3 4 5; do kill -TERM $PPID; done"
        let run = try await ssh(login: "echo openurl-far none; read -r n; trap '' TERM; \(signals); exec sleep 600")
        #expect(run.status == 5, "\(run)")
    }
}
