internal import Glibc
internal import OpenURLBus
internal import Relay
internal import Translations
internal import URLOpener
internal import UserFiles

/// A session on another machine, whose programs reach the router here through the session's own connection.
///
/// One ssh makes the connection, prepares the far end, and stays until the end. A second one adds the forwarding of the
/// socket, whose path on the far end is known only then, and a third one is the session. All use the first one's
/// connection, so the person logs in once.
final class SSHOperation {
    private let host: String
    private let options: [String]
    private let command: [String]
    private let hasTerminal: Bool
    private let invocation: Invocation

    /// The beginning of the name of each session's directory.
    private static let place = "ssh-"
    /// How long the far end may take for each step after the login, in milliseconds.
    private static let stepTime: CInt = 30_000
    /// How long the far end may take to remove its files, in milliseconds.
    private static let endTime: CInt = 3000
    /// The status of ssh if it fails itself.
    private static let failureOfSSH: Int32 = 255

    init(
        _ host: String,
        _ options: [String],
        _ command: [String],
        hasTerminal: Bool,
        _ invocation: Invocation
    ) {
        self.host = host
        self.options = options
        self.command = command
        self.hasTerminal = hasTerminal
        self.invocation = invocation
    }

    /// Returns the name of the other machine in the policy: the user's own name for it, and not one that it gives itself.
    ///
    /// - Parameter host: the machine in the form that ssh accepts.
    /// - Returns: nil if no rule can contain the name.
    static func name(of host: String) -> String? {
        let name = host.lastIndex(of: "@").map { host[host.index(after: $0)...] } ?? host[...]
        let isName = name.unicodeScalars.allSatisfy { scalar in
            scalar.isASCII && (scalar.properties.isAlphabetic || "0123456789._-:".unicodeScalars.contains(scalar))
        }
        return name.isEmpty || name.utf8.count > 255 || !isName ? nil : String(name)
    }

    /// Runs the session, and returns its exit status.
    func perform() throws(CommandFailure) -> Int32 {
        let runtimeDirectory = try RunningRelay.runtimeDirectory(invocation)
        ShareDirectory.removeAbandoned(Self.place, in: runtimeDirectory)
        let relay = try RunningRelay(
            "\(Self.place)\(String(UInt32.random(in: .min ... .max), radix: 36))",
            "host:\(Self.name(of: host) ?? host)",
            for: .descendants,
            in: runtimeDirectory,
            invocation
        )
        defer { relay.directory.remove(keepingDirectory: false) }
        relay.start()
        let control = "\(relay.directory.pathForChildren)/\(ShareDirectory.controlName)"
        // A write to a program that has ended must not end this one. From here on, Ctrl-C is for ssh.
        signal(SIGPIPE, SIG_IGN)
        let signals = try ProgramSignals()
        let script = "sh -c \(FarScript.text(ShareDirectory.otherNames).quotedForEveryShell)"
        let master = try PipedProgram("ssh", ssh(["-T", "-M", "-o", "ControlPersist=no"], control, [script]))
        defer { master.end(within: Self.endTime) }
        guard let answer = farAnswer(master, signals) else { return statusWithoutAnswer(master, signals) }
        var session = ssh(command.isEmpty || hasTerminal ? ["-t"] : ["-T"], control, [])
        if case .place(let far) = answer, send(to: master, far, signals),
            try forward(relay.directory.pathForChildren, far, control, signals)
        {
            session.append(sessionCommand(far.directory))
        } else if !command.isEmpty {
            session.append(command.joined(separator: " "))
        }
        if answer == .noPlace {
            let text = translated("warning: \(host) has no directory that openurl can use, so its URLs stay there")
            warn(text, signals)
        }
        if let signal = signals.ending { return 128 + signal }
        return try run(session, signals)
    }

    /// Prints a warning, unless a signal that ends this process is the reason for it.
    private func warn(_ text: String, _ signals: ProgramSignals) {
        if signals.ending == nil { invocation.errors.print(text) }
    }

    /// Returns the arguments of an ssh that uses the session's connection.
    private func ssh(_ own: [String], _ control: String, _ rest: [String]) -> [String] {
        ["ssh"] + own + ["-S", control, "-o", "RemoteCommand=none"] + options.flatMap { ["-o", $0] } + ["--", host]
            + rest
    }

    /// Waits for the login, and returns the far end's answer; nil if there is no connection, or after a signal.
    private func farAnswer(_ master: PipedProgram, _ signals: ProgramSignals) -> FarScript.Answer? {
        // A person may have to give a password, for which ssh and the other machine have time limits.
        while let line = master.readLine(within: -1, watching: signals) {
            if let answer = FarScript.Answer(line) { return answer }
        }
        return nil
    }

    /// Returns the exit status for a login without an answer.
    private func statusWithoutAnswer(_ master: PipedProgram, _ signals: ProgramSignals) -> Int32 {
        if let signal = signals.ending {
            master.end(within: 0)
            return 128 + signal
        }
        let status = master.end(within: Self.endTime)
        // ssh has printed its own reason, and after Ctrl-C none is needed.
        if status != Self.failureOfSSH, status != 128 + SIGINT {
            invocation.errors.print(
                translated("\(host) ended the connection without an answer; can you run commands there with ssh?")
            )
        }
        return Self.failureOfSSH
    }

    /// Sends the client to the far end, unless the far end has a client of its own.
    ///
    /// - Returns: whether the far end has a client that runs.
    private func send(to master: PipedProgram, _ far: FarScript.Place, _ signals: ProgramSignals) -> Bool {
        var client: [UInt8] = []
        if far.architecture == Self.architecture, let path = RunningRelay.client {
            do throws(FileError) {
                client = try contents(ofFile: path, limit: 16 << 20, followingLinks: true)
            } catch {
                invocation.errors.print(translated("warning: \(path) cannot be read: \(error.description)"))
            }
        }
        guard !client.isEmpty || far.hasClient else {
            invocation.errors.print(
                translated(
                    "warning: \(host) has another processor (\(far.architecture)); install openurl-remote there to open URLs here"
                )
            )
            return false
        }
        guard master.write(Array("\(client.count)\n".utf8) + client, within: Self.stepTime, watching: signals),
            master.readLine(within: Self.stepTime, watching: signals) == FarScript.readyLine
        else {
            warn(translated("warning: \(host) cannot run openurl-remote, so its URLs stay there"), signals)
            return false
        }
        return true
    }

    /// Adds the forwarding of the socket.
    ///
    /// - Returns: whether the far end allows it.
    private func forward(
        _ directory: String,
        _ far: FarScript.Place,
        _ control: String,
        _ signals: ProgramSignals
    ) throws(CommandFailure) -> Bool {
        let sockets = "\(far.directory)/\(ShareDirectory.socketName):\(directory)/\(ShareDirectory.socketName)"
        guard try run(ssh(["-O", "forward", "-R", sockets], control, []), signals) == 0 else {
            warn(
                translated(
                    "warning: \(host) does not forward sockets (AllowStreamLocalForwarding), so its URLs stay there"
                ),
                signals
            )
            return false
        }
        return true
    }

    /// Returns the command of the session: its environment, and the client, which runs the user's shell. These words mean
    /// the same in every login shell.
    private func sessionCommand(_ far: String) -> String {
        var words = [
            "env", "OPENURL_SOCKET=\(far)/\(ShareDirectory.socketName)", "BROWSER=\(far)/xdg-open",
            "\(far)/\(ShareDirectory.clientName)", "--session",
        ]
        // As ssh does, join the words to one command for the shell.
        if !command.isEmpty { words += ["-c", command.joined(separator: " ").quotedForEveryShell] }
        return words.joined(separator: " ")
    }

    /// Runs a program on this process's terminal, and returns its exit status.
    private func run(_ words: [String], _ signals: ProgramSignals) throws(CommandFailure) -> Int32 {
        let child = try ChildProgram(words.map(CommandLineArgument.text))
        while true {
            if let status = child.status { return status }
            child.handle(signals.take())
        }
    }

    /// The architecture of this machine, as `uname -m` prints it.
    private static let architecture: String = {
        var names = utsname()
        uname(&names)
        return withUnsafeBytes(of: &names.machine) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }()
}
