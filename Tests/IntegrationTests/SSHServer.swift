import Foundation
import TestSupport
import Testing

/// A real sshd for one test, and the files of a client that knows it as `box`.
///
/// ssh starts the server for each connection (`ProxyCommand`), so no port is open.
struct SSHServer {
    let directory: URL

    /// - Parameter variables: the variables of the sessions on the server.
    init(in parent: URL, _ variables: [String: String]) throws {
        directory = parent.appending(path: "ssh")
        try FileManager.default.createDirectory(at: directory.appending(path: "bin"), withIntermediateDirectories: true)
        if getuid() == 0 {
            // The directory of the server's processes without rights, which the service makes at its start.
            try FileManager.default.createDirectory(atPath: "/run/sshd", withIntermediateDirectories: true)
        }
        for key in ["host", "key"] {
            let maker = try ChildProcess.run(
                URL(filePath: "/usr/bin/ssh-keygen"),
                arguments: ["-q", "-t", "ed25519", "-N", "", "-f", directory.appending(path: key).path]
            )
            maker.waitUntilExit()
            try #require(maker.terminationStatus == 0)
        }
        try FileManager.default.copyItem(at: file("key.pub"), to: file("authorized"))
        try write("known", "box \(String(contentsOf: file("host.pub"), encoding: .utf8))")
        try setVariables(variables)
        try writeProgram(
            "#!/bin/sh\n\(recordingPID("pid"))\nexec /usr/sbin/sshd -i -f \(file("server").path)\n",
            to: file("serve").path
        )
        // While there is a gate, a session does nothing until its connection ends.
        try writeProgram(
            """
            #!/bin/sh
            \(recordingPID("session.pid"))
            [ ! -e \(file("gate").path) ] || exec timeout 300 cat >\(file("ignored").path)
            eval "exec $SSH_ORIGINAL_COMMAND"

            """,
            to: file("session").path
        )
        try writeProgram(
            "#!/bin/sh\nexec /usr/bin/ssh -F \(file("client").path) \"$@\"\n",
            to: file("bin/ssh").path
        )
        try write(
            "client",
            """
            Host box
                ProxyCommand \(file("serve").path)
                IdentityFile \(file("key").path)
                IdentitiesOnly yes
                UserKnownHostsFile \(file("known").path)
                StrictHostKeyChecking yes
                LogLevel ERROR

            """
        )
    }

    func file(_ name: String) -> URL { directory.appending(path: name) }

    private func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: file(name))
    }

    /// Sets the variables of the sessions that follow.
    func setVariables(_ variables: [String: String]) throws {
        try write(
            "server",
            """
            HostKey \(file("host").path)
            AuthorizedKeysFile \(file("authorized").path)
            StrictModes no
            UsePAM no
            PermitRootLogin yes
            PasswordAuthentication no
            KbdInteractiveAuthentication no
            ForceCommand \(file("session").path)
            SetEnv \(variables.map { "\($0.key)=\"\($0.value)\"" }.sorted().joined(separator: " "))

            """
        )
    }

    /// The variables of a client, which has no bus of its own.
    func client(_ environment: [String: String]) -> [String: String] {
        let path = "\(file("bin").path):\(environment["PATH"] ?? "/usr/bin:/bin")"
        return environment.merging(["PATH": path, "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent"]) { $1 }
    }

    /// Ends the connection that was made last.
    func cut() throws {
        let server = try pid("pid")
        kill(try #require(server), SIGKILL)
    }

    /// The process on the server's side of the connection that was made last; nil before there is one.
    ///
    /// The process is `systemd-stdio-bridge` as soon as the session has passed the gate.
    func session() throws -> Int32? { try pid("session.pid") }

    /// Keeps the sessions that follow from doing anything.
    func closeGate() throws {
        try write("gate", "")
    }

    /// Returns the shell's command that writes its process ID to a file, which is complete as soon as it has its name.
    private func recordingPID(_ name: String) -> String {
        "echo $$ >\(file(name).path).$$ && mv \(file(name).path).$$ \(file(name).path)"
    }

    private func pid(_ name: String) throws -> Int32? {
        guard FileManager.default.fileExists(atPath: file(name).path) else { return nil }
        return Int32(try String(contentsOf: file(name), encoding: .utf8).filter(\.isNumber))
    }
}
