import CLinux
import Glibc
import Reactor
import SystemPackage
import Testing

@Suite(.serialized, .timeLimit(.minutes(10))) struct ProcessTests {
    /// Starts a shell script and returns its exit.
    private func run(_ script: String, environment: [String] = [], directory: String = "/") async throws -> ProcessExit
    {
        let loop = try EventLoop()
        defer { loop.stop() }
        return try await loop.child(script, environment: environment, directory: directory)
    }

    @Test func exitStatusArrives() async throws {
        #expect(try await run("exit 0") == .exited(status: 0))
        #expect(try await run("exit 42") == .exited(status: 42))
    }

    @Test func terminatingSignalArrives() async throws {
        #expect(try await run("kill -TERM $$") == .signalled(SIGTERM))
        #expect(ProcessExit.signalled(SIGKILL).description == "was ended by signal 9 (Killed)")
    }

    @Test func failedStartHasAReason() async throws {
        let loop = try EventLoop()
        func failure(_ path: String, _ arguments: [String] = [], _ directory: String = "/") async -> Errno? {
            await loop.run { () -> Errno? in
                do throws(Errno) {
                    _ = try ProcessHandle.spawn(
                        path,
                        arguments: arguments,
                        environment: [],
                        directory: directory,
                        on: loop
                    ) { _ in }
                    return nil
                } catch {
                    return error
                }
            }
        }
        #expect(await failure("/nonexistent") == .noSuchFileOrDirectory)
        #expect(await failure("/etc/passwd") == .permissionDenied)
        #expect(await failure("/bin/true", ["true"], "/nonexistent") == .noSuchFileOrDirectory)
        #expect(await failure("/bin/echo", ["echo", "a\0b"]) == .invalidArgument)
        loop.stop()
    }

    @Test func childGetsOnlyItsEnvironmentAndDescriptors() async throws {
        let (a, b) = try socketPair()
        _ = fcntl(a, F_SETFD, 0)
        _ = fcntl(b, F_SETFD, 0)
        defer {
            close(a)
            close(b)
        }
        // `ls` itself opens one more descriptor while it lists the directory.
        #expect(try await run("[ \"$(ls /proc/self/fd | wc -l)\" = 4 ]") == .exited(status: 0))
        #expect(try await run("[ \"$A\" = 'b c' ] && [ -z \"$HOME\" ]", environment: ["A=b c"]) == .exited(status: 0))
        #expect(try await run("[ \"$PWD\" = /usr ]", directory: "/usr") == .exited(status: 0))
        #expect(try await run("read line || exit 7") == .exited(status: 7))
        // The child has no blocked or ignored signals and leads a new session.
        #expect(try await run("grep -q 'SigBlk:.0*$' /proc/self/status") == .exited(status: 0))
        #expect(try await run("[ \"$(cut -d' ' -f6 /proc/$$/stat)\" = $$ ]") == .exited(status: 0))
    }

    @Test func standardOutputAndErrorUseTheGivenDescriptor() async throws {
        let (reader, writer) = try FileDescriptor.pipe()
        let loop = try EventLoop()
        let exit = try await loop.child("echo out; echo err >&2; ls /proc/self/fd", output: writer.rawValue)
        #expect(exit == .exited(status: 0))
        try writer.close()
        let text = try reader.closeAfter {
            try String(unsafeUninitializedCapacity: 4096) { try reader.read(into: UnsafeMutableRawBufferPointer($0)) }
        }
        #expect(text == "out\nerr\n0\n1\n2\n3\n")
        loop.stop()
    }

    /// A program that was started without standard descriptors gets their numbers for other files.
    @Test(arguments: [0, 1, 2] as [CInt]) func outputMayHaveTheNumberOfAStandardDescriptor(_ number: CInt) async {
        // Standard descriptors and signals belong to the whole process, so the test runs in a child process.
        await #expect(processExitsWith: .success) { [number] in
            var ends: [CInt] = [-1, -1]
            try #require(pipe2(&ends, O_CLOEXEC) == 0)
            let kept = fcntl(number, F_DUPFD_CLOEXEC, 10)
            try #require(dup2(ends[1], number) == number && fcntl(number, F_SETFD, FD_CLOEXEC) == 0)
            let loop = try EventLoop()
            let exit = try await loop.child("echo out; echo err >&2", output: number)
            try #require(dup2(kept, number) == number)
            close(ends[1])
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = read(ends[0], &bytes, bytes.count)
            #expect(exit == .exited(status: 0))
            #expect(String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self) == "out\nerr\n")
        }
    }

    /// The program's standard error has the number of this process's standard output, and the other way round.
    @Test func errorsMayHaveTheNumberOfAnotherStream() async {
        await #expect(processExitsWith: .success) {
            var output: [CInt] = [-1, -1]
            var errors: [CInt] = [-1, -1]
            try #require(pipe2(&output, O_CLOEXEC) == 0)
            try #require(pipe2(&errors, O_CLOEXEC) == 0)
            let kept = [STDOUT_FILENO, STDERR_FILENO].map { fcntl($0, F_DUPFD_CLOEXEC, 10) }
            try #require(dup2(errors[1], STDOUT_FILENO) >= 0 && dup2(output[1], STDERR_FILENO) >= 0)
            let runs: [(String, CInt?)] = [("echo out; echo err >&2", STDERR_FILENO), ("echo only >&2", nil)]
            for (script, output) in runs {
                let pid = try ProcessHandle.start(
                    "/bin/sh",
                    arguments: ["sh", "-c", script],
                    environment: [],
                    directory: "/",
                    output: output,
                    errors: STDOUT_FILENO
                )
                try #require(waitpid(pid, nil, 0) == pid)
            }
            try #require(dup2(kept[0], STDOUT_FILENO) >= 0 && dup2(kept[1], STDERR_FILENO) >= 0)
            let texts = [output, errors].map { ends in
                close(ends[1])
                var bytes = [UInt8](repeating: 0, count: 64)
                let count = read(ends[0], &bytes, bytes.count)
                return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
            }
            #expect(texts == ["out\n", "err\nonly\n"])
        }
    }

    @Test func childInheritsAnIgnoredSIGPIPE() async {
        await #expect(processExitsWith: .success) {
            let (reader, writer) = try FileDescriptor.pipe()
            try reader.close()
            let loop = try EventLoop()
            let script = "echo out; echo err >&2; exit 5"
            #expect(try await loop.child(script, output: writer.rawValue) == .signalled(SIGPIPE))
            signal(SIGPIPE, SIG_IGN)
            #expect(try await loop.child(script, output: writer.rawValue) == .exited(status: 5))
            // Without an output the child has the default action for SIGPIPE, as for all other signals.
            #expect(try await loop.child("kill -PIPE $$") == .signalled(SIGPIPE))
        }
    }

    @Test func noZombieIsLeft() async throws {
        let loop = try EventLoop()
        let pid: CInt = await onLoop(loop) { done in
            var handle: ProcessHandle?
            do throws(Errno) {
                handle = try ProcessHandle.spawn(
                    "/bin/true",
                    arguments: ["true"],
                    environment: [],
                    directory: "/",
                    on: loop
                ) { _ in
                    done(handle?.pid ?? 0)
                }
            } catch {
                done(0)
            }
        }
        #expect(pid > 0)
        #expect(kill(pid, 0) == -1 && errno == ESRCH)
        loop.stop()
    }

    @Test func signalReachesTheChild() async throws {
        let loop = try EventLoop()
        let exit: ProcessExit = await onLoop(loop) { done in
            do throws(Errno) {
                let handle = try ProcessHandle.spawn(
                    "/bin/sleep",
                    arguments: ["sleep", "3600"],
                    environment: [],
                    directory: "/",
                    on: loop
                ) { done($0) }
                handle.release()
                handle.send(signal: SIGTERM)
            } catch {
                done(.unknown)
            }
        }
        #expect(exit == .signalled(SIGTERM))
        loop.stop()
    }

    /// Its number may already belong to another process.
    @Test func processThatIsGoneHasNoSession() async throws {
        let loop = try EventLoop()
        let (leads, isGone): (Bool, Bool) = await onLoop(loop) { done in
            do throws(Errno) {
                let child = try ProcessHandle.spawn(
                    "/bin/sleep",
                    arguments: ["sleep", "3600"],
                    environment: [],
                    directory: "/",
                    on: loop
                ) { _ in }
                let leads = child.session == child.pid
                child.kill()
                waitpid(child.pid, nil, 0)
                done((leads, child.session == nil))
            } catch {
                done((false, false))
            }
        }
        #expect(leads && isGone)
        loop.stop()
    }

    @Test func endOfAForeignProcessIsReported() async throws {
        let loop = try EventLoop()
        let (first, second): (ProcessExit, ProcessExit) = await onLoop(loop) { done in
            var ends: [ProcessExit] = []
            do throws(Errno) {
                let child = try ProcessHandle.spawn(
                    "/bin/sleep",
                    arguments: ["sleep", "3600"],
                    environment: [],
                    directory: "/",
                    on: loop
                ) { exit in
                    ends.append(exit)
                    if ends.count == 2 { done((ends[0], ends[1])) }
                }
                _ = try ProcessHandle(pid: child.pid, on: loop) { exit in
                    ends.append(exit)
                    if ends.count == 2 { done((ends[0], ends[1])) }
                }
                let released = try ProcessHandle(pid: child.pid, on: loop) { ends.append($0) }
                released.release()
                child.send(signal: SIGKILL)
            } catch {
                done((.unknown, .unknown))
            }
        }
        #expect(Set([first, second]) == [.unknown, .signalled(SIGKILL)])
        await #expect(throws: Errno.noSuchProcess) {
            try await loop.run { () throws(Errno) -> Void in
                _ = try ProcessHandle(pid: 0x7FFF_FFF0, on: loop) { _ in }
            }
        }
        loop.stop()
    }

    @Test func endOfAChildThatWasReapedElsewhereIsReported() async throws {
        let loop = try EventLoop()
        let exit: ProcessExit = await onLoop(loop) { done in
            do throws(Errno) {
                let child = try ProcessHandle.spawn(
                    "/bin/sleep",
                    arguments: ["sleep", "3600"],
                    environment: [],
                    directory: "/",
                    on: loop
                ) { done($0) }
                child.send(signal: SIGKILL)
                waitpid(child.pid, nil, 0)
            } catch {
                done(.exited(status: -1))
            }
        }
        #expect(exit == .unknown)
        loop.stop()
    }

    @Test func descriptorsDoNotGrowWithProcesses() async {
        // No other test opens descriptors in a child process.
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop()
            var counts: Set<Int> = []
            for round in 0..<50 {
                let exit: ProcessExit = await onLoop(loop) { done in
                    do throws(Errno) {
                        _ = try ProcessHandle.spawn(
                            "/bin/true",
                            arguments: ["true"],
                            environment: [],
                            directory: "/",
                            on: loop
                        ) {
                            done($0)
                        }
                    } catch {
                        done(.unknown)
                    }
                }
                #expect(exit == .exited(status: 0))
                // The loop releases the handle in the turn that reports the exit.
                await loop.run {}
                if round > 0 { counts.insert(openDescriptors()) }
            }
            #expect(counts.count == 1, "\(counts)")
        }
    }

    @Test func signalsOfTheProcessArriveInTheLoop() async throws {
        // Signals belong to the whole process, so the test runs in a child process.
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop()
            let seen: [CInt] = await onLoop(loop) { done in
                var seen: [CInt] = []
                do throws(Errno) {
                    try SignalWatch.start([SIGUSR1, SIGUSR2], on: loop) { signal in
                        seen.append(signal)
                        if seen.count == 2 { done(seen) }
                    }
                    kill(getpid(), SIGUSR2)
                    kill(getpid(), SIGUSR1)
                } catch {
                    done([])
                }
            }
            await #expect(throws: Errno.alreadyInProcess) {
                try await loop.run { () throws(Errno) in try SignalWatch.start([SIGUSR1], on: loop) { _ in } }
            }
            #expect(seen.sorted() == [SIGUSR1, SIGUSR2])
        }
    }
}

extension EventLoop {
    /// Starts a shell script and returns its exit.
    fileprivate func child(
        _ script: String,
        environment: [String] = [],
        directory: String = "/",
        output: CInt? = nil
    ) async throws -> ProcessExit {
        let exit: Result<ProcessExit, Errno> = await onLoop(self) { done in
            do throws(Errno) {
                _ = try ProcessHandle.spawn(
                    "/bin/sh",
                    arguments: ["sh", "-c", script],
                    environment: environment,
                    directory: directory,
                    output: output,
                    on: self
                ) { done(.success($0)) }
            } catch {
                done(.failure(error))
            }
        }
        return try exit.get()
    }
}

private func openDescriptors() -> Int {
    guard let directory = opendir("/proc/self/fd") else { return -1 }
    defer { closedir(directory) }
    var count = 0
    while readdir(directory) != nil { count += 1 }
    return count
}
