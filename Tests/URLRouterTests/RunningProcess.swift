import Foundation
import SchemeRegistry

/// A process that runs until its test ends it.
final class RunningProcess {
    private let process = Process()
    private let ends: AsyncStream<Void>

    var pid: UInt32 { UInt32(process.processIdentifier) }
    var isRunning: Bool { process.isRunning }
    /// The program of the process.
    let program: Handler.Program

    init() throws {
        let path = URL(filePath: "/bin/sleep").resolvingSymlinksInPath()
        program = .path(path.path)
        process.executableURL = path
        process.arguments = ["600"]
        let (ends, continuation) = AsyncStream<Void>.makeStream()
        self.ends = ends
        process.terminationHandler = { _ in continuation.finish() }
        try process.run()
    }

    /// Stops the process, and returns when the kernel has stopped it.
    func stop() {
        kill(process.processIdentifier, SIGSTOP)
        var status: CInt = 0
        waitpid(process.processIdentifier, &status, WUNTRACED)
    }

    /// Returns when the process has ended.
    func waitForEnd() async {
        for await _ in ends {}
    }

    func end() {
        kill(process.processIdentifier, SIGKILL)
    }
}
