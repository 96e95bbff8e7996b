internal import CLinux
internal import DBus
internal import Glibc
internal import OpenURLBus
internal import Processes

extension KnownCallers.Entry {
    /// Looks up a caller from what the bus knows about its connection. The source's class is never `handler` here.
    ///
    /// If the caller has exited, its process ID may belong to another process by now, unless the bus provides a pidfd.
    ///
    /// - Parameter credentials: nil if the connection had closed.
    convenience init(_ name: BusName, _ credentials: Credentials?) {
        var gone = OpenContext.Source()
        gone.uniqueName = name.rawValue
        gone.uid = credentials?.uid
        gone.callerClass = .known(.unknown)
        guard let credentials, let pid = credentials.pid, let process = ProcessIdentity(pid: pid) else {
            self.init(source: gone, process: nil)
            return
        }
        var source = gone
        let origin = URLOrigin(ofCaller: pid)
        source.pid = origin.pid
        source.executable = origin.executable
        source.via = origin.via
        source.isIntermediary = origin.isIntermediary
        source.unit = ProcessUnit.name(pid: origin.pid)
        if let sandbox = origin.confinement {
            source.callerClass = .known(.sandboxed)
            source.application = sandbox.application
        } else {
            // Another user should not be on this user's bus, and a proxy acts for a program that may be confined.
            let isOwn = credentials.uid == getuid() && !URLOrigin.isProxy(origin.executable)
            source.callerClass = .known(isOwn ? .user : .sandboxed)
        }
        // All of this describes the same process only if that process has been running the whole time.
        guard credentials.isProcessRunning, ProcessIdentity(pid: pid) == process else {
            self.init(source: gone, process: nil)
            return
        }
        self.init(source: source, process: process)
    }
}

extension Credentials {
    /// Whether the process that opened the connection is running, as far as the bus knows.
    fileprivate var isProcessRunning: Bool {
        guard let processDescriptor else { return true }
        return pidfd_send_signal(processDescriptor.rawValue, 0, nil, 0) == 0
    }
}
