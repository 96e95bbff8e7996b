internal import CLinux
internal import DBus
internal import Glibc
internal import Processes
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage
internal import UserFiles

/// Decides whether the process that owns a handler's name is the handler: by its start, its program or its sandbox. It
/// also reads the version of a handler's program, and looks for faults in it, within the same limits.
struct OwnerRecognition: Sendable {
    let session: SessionEnvironment
    let loop: EventLoop
    /// Nil without a directory for the records.
    let records: ProcessRecords?
    /// The launcher's threads, because a program that is examined counts like one that is being started.
    let starts: Lock<Shares<String>>
    /// Time limit for a look at the file of a handler's program.
    let lookTime: Duration
    /// Replaces the decision of ``claim(of:_:child:runner:)`` in a unit test, where handlers are not processes.
    let examine: (@Sendable (OwnerRecognition, UInt32?, Handler) async -> OwnerClaim?)?

    /// The session's variables.
    private var environment: [String: String] { session.assumeIsolated { $0.variables } }

    /// Returns why a process that owns a handler's name is considered the handler; nil if it is not.
    ///
    /// - Parameters:
    ///   - child: the process that this router has started for the handler, while it runs.
    ///   - runner: the process that has started the handler's program, and has claimed schemes for it.
    func claim(
        of pid: UInt32?,
        _ handler: Handler,
        child: pid_t?,
        runner: ProcessIdentity? = nil
    ) async -> OwnerClaim? {
        if let examine { return await examine(self, pid, handler) }
        guard let pid else { return nil }
        // Don't compare programs here: a program that another one has started is often an interpreter, which any other
        // program may run as well.
        if let runner { return runner.isAncestor(of: pid) ? .runsProgram : nil }
        if records?.contain(pid, of: handler.id) == true { return .wasStarted }
        let session = pid_t(exactly: pid).map(getsid) ?? -1
        if session > 0, session == child || records?.contain(UInt32(session), of: handler.id) == true {
            return .descends
        }
        guard let confinement = ProcessConfinement(pid: pid) else {
            return await runsProgram(of: handler, pid: pid) ? .runsProgram : nil
        }
        return confinement.application.map(handler.isApplication) == true ? .isInSandbox : nil
    }

    /// Returns the process that uses a connection to the bus: the connection's own process, or the one behind the proxy
    /// of a Flatpak sandbox; nil if any other proxy hides it.
    func process(behind pid: UInt32) -> UInt32? {
        guard URLOrigin.isProxy(ProcessProgram.path(pid: pid)) else { return pid }
        guard let directory = BaseDirectories(environment: environment).runtimeDirectory else { return nil }
        return FlatpakInstance(pid: pid)?.process(in: directory)
    }

    /// Returns whether a process runs the handler's own program or, if this is a script, the script.
    func runsProgram(of handler: Handler, pid: UInt32) async -> Bool {
        await look(at: handler) { ProgramFile.isRun($0, by: pid, $1) } ?? false
    }

    /// Returns the state of the handler's program file; nil if there is no such file.
    func programVersion(of handler: Handler) async -> FileVersion? {
        await look(at: handler) { ProgramFile.version(of: $0, $1) } ?? nil
    }

    /// Returns why a launch cannot start the handler's program, and how to correct it; nil if nothing is wrong with it, or if
    /// its file system is not responding.
    func programProblem(of handler: Handler) async -> String? {
        // Programs that ask for explanations must not use up the handler's share. No identifier is a word without a dot.
        await look(at: handler, for: "explain") { program, environment in
            ProgramFile.distrust(of: program, environment)
                ?? ManifestCheck.findings(onProgramOf: handler, searchPath: environment["PATH"]).first?.reason
        } ?? nil
    }

    /// Examines the handler's program file; nil if its file system is not responding.
    ///
    /// - Parameter account: the account among ``starts`` that has the look; nil for the handler's own.
    private func look<Result: Sendable>(
        at handler: Handler,
        for account: String? = nil,
        _ look: @escaping @Sendable (Handler.Program, [String: String]) -> Result
    ) async -> Result? {
        let account = account ?? handler.id.rawValue
        guard let program = handler.program, starts.withLock({ $0.refusal(of: account, 1) }) == nil else { return nil }
        let environment = environment.merging(handler.manifest.environment) { $1 }
        starts.withLock { $0.add(1, to: account) }
        do throws(Errno) {
            return try await HelperThread.run(for: lookTime, on: loop) { [starts] in
                defer { starts.withLock { $0.remove(1, from: account) } }
                return look(program, environment)
            } late: { _ in
            }
        } catch {
            starts.withLock { $0.remove(1, from: account) }
            return nil
        }
    }
}

extension Handler {
    /// Returns whether the handler is a sandbox's application: if both have the same identifier, if the handler's
    /// identifier is one of the names that Flatpak gives each application, or if the manifest starts the application
    /// with Flatpak.
    fileprivate func isApplication(_ application: String) -> Bool {
        if id.rawValue == application { return true }
        // Every Flatpak application has at least two dots in its identifier. Names of snaps have none.
        if id.rawValue.hasPrefix(application + "."), application.count(where: { $0 == "." }) >= 2 { return true }
        guard let name = program?.description.split(separator: "/").last else { return false }
        // Flatpak exports a program with each application's name.
        if name == "flatpak", manifest.arguments.first == "run" {
            let command = manifest.arguments.dropFirst().first { !$0.hasPrefix("-") }
            return command?.split(separator: "/").first.map { $0 == application } == true
        }
        return name == application
    }
}
