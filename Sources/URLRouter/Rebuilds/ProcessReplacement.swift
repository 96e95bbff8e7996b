internal import DBus
internal import Logging
internal import OpenURLBus
internal import SchemeRegistry

/// The part of a handler's session that ``ProcessReplacement`` uses.
protocol ReplacementView: SessionView {
    var requests: RequestQueue { get }
    var processes: HandlerProcesses { get }
}

/// Before a URL is delivered, ends the handler's process if it has nothing to do and runs an earlier program, so that
/// the URL goes to the program that a launch would start now.
///
/// The program's file is examined before the delivery of a URL that finds the handler in the background. A handler in
/// the foreground is in use, and keeps its process; after its answer, the file is examined for the sender's sake, but
/// not for each of many URLs. The object belongs to the router's actor.
final class ProcessReplacement {
    private let id: BusName
    private let shared: SharedParts
    private unowned let session: any ReplacementView
    /// Closed while the file is examined. Later URLs wait for the same examination, so that none of them overtakes the
    /// first one.
    private let gate = TaskGate()

    init(_ id: BusName, _ shared: SharedParts, _ session: any ReplacementView) {
        self.id = id
        self.shared = shared
        self.session = session
    }

    /// Whether the process may be replaced, as far as the router knows without examining the file.
    var mayReplace: Bool {
        switch session.machine.state {
        case .running(_, .background) where session.machine.woken == nil, .suspended: break
        case .notRunning, .lookingForOwner, .starting, .lostProcess, .running, .suspending, .waking, .ending:
            return false
        }
        let process = session.process
        // The user may be debugging a process that was started by hand.
        return process.claim == .wasStarted && process.running != nil && process.tasks.isEmpty && !process.isBusy
            && session.requests.inHand.isEmpty && !session.handler.keepsOldProgram
            && !session.handler.manifest.backgroundModes.contains(where: \.preventsSuspension)
    }

    /// Ends the process if it runs an earlier program. The requests that are waiting go to the next process.
    func replaceEarlierProgram() async {
        let session = session
        if gate.isClosed { return await gate.wait() }
        gate.close()
        defer { gate.open() }
        let process = session.process
        guard let pid = await look(), process === session.process, mayReplace else { return }
        shared.log.notice("ended, because its program has changed", metadata: ["handler": "\(id)", "pid": "\(pid)"])
        session.handle(.replaced)
    }

    /// Returns whether the process that has just taken a URL runs an earlier program, so that the sender can be told.
    ///
    /// URLs in quick succession share one examination of the file, and only the first waits for it.
    func runsEarlierProgram() async -> Bool {
        let process = session.process
        guard !session.handler.keepsOldProgram, shared.runners[id] == nil, process.running != nil else { return false }
        if let look = process.programLook, look.time + shared.limits.programLookPeriod > .now { return look.isEarlier }
        return await look() != nil
    }

    /// Examines the program's file for a URL. Until this is done, other URLs get the answer from the last examination.
    private func look() async -> UInt32? {
        let process = session.process
        process.programLook = (.now, process.programLook?.isEarlier == true)
        let pid = await processToReplace()
        // If the file system hangs, the period begins when the examination gives up.
        process.programLook = (.now, pid != nil)
        return pid
    }

    /// Examines the program's file, and returns the process if a launch would start another program now.
    func processToReplace() async -> UInt32? {
        let session = session
        guard !session.process.isHidden, let pid = await session.processes.processOfEarlierProgram() else { return nil }
        // Without the program's file, a launch would fail: a build of the program may be in progress.
        return await shared.launcher.recognition.programVersion(of: session.handler) == nil ? nil : pid
    }
}
