internal import CLinux
internal import DBus
internal import Glibc
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage

/// Runs a program whose output is an answer: a dialog, or one that asks a site.
struct AnsweringProgram {
    private let launcher: HandlerLauncher

    /// How a program ended, and what it wrote.
    struct Result: Sendable {
        let exit: ProcessExit
        let output: [UInt8]
    }

    init(_ launcher: HandlerLauncher) {
        self.launcher = launcher
    }

    /// How long the file systems on `PATH` may take to provide a program.
    private static let startTime = Duration.seconds(5)

    /// Runs a program.
    ///
    /// - Parameters:
    ///   - name: the program's name, for the unit in which it runs.
    ///   - input: what the program reads from its standard input; nil for nothing.
    ///   - isTrusted: whether it is known that no other user can change the program.
    ///   - answersBeforeExit: whether the answer is complete as soon as the program closes its output, although it may run
    ///     a little longer. It then counts as having succeeded.
    ///   - limit: the number of bytes of its output after which no more are read.
    ///   - time: how long the program may run, even if it answers before.
    /// - Returns: nil if the time ran out, or if the task was cancelled. The program is then ended.
    func run(
        _ name: String,
        _ program: Handler.Program,
        _ arguments: [String],
        environment: [String: String],
        input: String? = nil,
        isTrusted: Bool = true,
        answersBeforeExit: Bool = false,
        limit: Int,
        within time: Duration
    ) async throws(ProgramStart.Failure) -> Result? {
        var ends: [CInt] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw .refused(Errno(rawValue: errno)) }
        defer { close(ends[0]) }
        // If the program has descendants, one of them may keep the pipe open.
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        let ending = Ending()
        var start = ProgramStart(
            program: program,
            arguments: arguments,
            environment: environment,
            directory: "/",
            isTrusted: isTrusted,
            output: UnixFD(owning: ends[1])
        )
        if let input { start.input = try Self.file(with: input) }
        let process: ProcessHandle
        do throws(ProgramStart.Failure) {
            process = try await launcher.launch(name, start, within: min(time, Self.startTime)) {
                ending.end($0)
            }
        } catch {
            if Task.isCancelled { return nil }
            throw error
        }
        let timer = launcher.loop.schedule(at: .now + time) {
            process.kill()
            ending.end(nil)
        }
        let end = ends[0]
        var answer: [UInt8] = []
        var watch: DescriptorWatch?
        if answersBeforeExit {
            // Without any events to wait for, only the end of the output is reported.
            watch = launcher.loop.watch(end, for: []) { _ in
                watch?.cancel()
                answer = Self.output(of: end, limit)
                if !answer.isEmpty { ending.end(.exited(status: EXIT_SUCCESS)) }
            }
        }
        defer { watch?.cancel() }
        // This closure runs on the loop, to which both objects belong.
        nonisolated(unsafe) let stop = {
            process.kill()
            ending.end(nil)
        }
        let exit = await withTaskCancellationHandler {
            await withCheckedContinuation { ending.wait($0) }
        } onCancel: {
            launcher.loop.execute { stop() }
        }
        // A program that goes on after its answer is still ended in time.
        guard answer.isEmpty else { return exit.map { Result(exit: $0, output: answer) } }
        launcher.loop.cancelTimer(timer)
        return exit.map { Result(exit: $0, output: Self.output(of: end, limit)) }
    }

    /// Returns a file in memory with a text, at its beginning. Unlike a pipe, it takes a text of any length at once.
    private static func file(with text: String) throws(ProgramStart.Failure) -> UnixFD {
        let descriptor = make_memory_file("openurl-question")
        guard descriptor >= 0 else { throw .refused(Errno(rawValue: errno)) }
        let file = UnixFD(owning: descriptor)
        let bytes = Array(text.utf8)
        guard write(descriptor, bytes, bytes.count) == bytes.count, lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw .refused(Errno(rawValue: errno))
        }
        return file
    }

    private static func output(of descriptor: CInt, _ limit: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < limit {
            let chunk = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
                count = max(0, read(descriptor, buffer.baseAddress, 4096))
            }
            if chunk.isEmpty { break }
            bytes += chunk
        }
        return bytes
    }
}

/// The end of a program, for which one task waits. This belongs to the loop.
private final class Ending {
    private var exit: ProcessExit??
    private var continuation: CheckedContinuation<ProcessExit?, Never>?

    func end(_ exit: ProcessExit?) {
        guard self.exit == nil else { return }
        self.exit = exit
        continuation?.resume(returning: exit)
        continuation = nil
    }

    func wait(_ continuation: CheckedContinuation<ProcessExit?, Never>) {
        if let exit { continuation.resume(returning: exit) } else { self.continuation = continuation }
    }
}
