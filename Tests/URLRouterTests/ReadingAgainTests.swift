import DBus
import Desktop
import Glibc
import Logging
import OpenURLBus
import Policy
import Reactor
import SchemeRegistry
import TestSupport
import Testing
import UserFiles

@testable import URLRouter

/// Files that cannot be read for now are read again, although nothing reports a change.
@Suite(.timeLimit(.minutes(10))) struct ReadingAgainTests {
    @Test func handlersAreReadAndWatchedAfterAShortage() async {
        // A child process has its own descriptors.
        await #expect(processExitsWith: .success) {
            let root = try TemporaryDirectory()
            try root.write(manifest("com.example.old"), to: "handlers/com.example.old.plist")
            let new = try root.write(manifest("com.example.new"), to: "com.example.new.plist")
            let late = try root.write(manifest("com.example.late"), to: "com.example.late.plist")
            let last = try root.write(manifest("com.example.last"), to: "com.example.last.plist")
            let loop = try EventLoop()
            let store = makeStore(in: root, on: loop)
            #expect(await store.load().handlers.count == 1)
            let (readingStream, reading) = AsyncStream.makeStream(of: Void.self)
            let (snapshotStream, snapshot) = AsyncStream.makeStream(of: RegistrySnapshot.self)
            var readings = readingStream.makeAsyncIterator()
            var snapshots = snapshotStream.makeAsyncIterator()
            await store.watch([]) {
                reading.yield()
                return true
            }

            let taken = TakenDescriptors()
            await store.follow { snapshot.yield($0) }
            let during = await snapshots.next()?.registry
            let isAdded = rename(new, "\(root.path)/handlers/com.example.new.plist") == 0
            // Without a shortage, this reading would be the last one, because nothing is watched.
            _ = await readings.next()
            taken.giveBack()
            #expect(isAdded)
            #expect(during?.handlers.map(\.id.rawValue) == ["com.example.old"])
            #expect(during?.diagnostics.isEmpty == false)

            while let after = await snapshots.next()?.registry, after.handlers.count < 2 {}
            // The first of these changes may be found by the reading that follows the new watches. The second is only reported.
            #expect(rename(late, "\(root.path)/handlers/com.example.late.plist") == 0)
            while let after = await snapshots.next()?.registry, after.handlers.count < 3 {}
            #expect(rename(last, "\(root.path)/handlers/com.example.last.plist") == 0)
            while let after = await snapshots.next()?.registry, after.handlers.count < 4 {}
            loop.stop()
            withExtendedLifetime(root) {}
        }
    }

    @Test func rememberedAnswersAreReadAfterAShortage() async {
        // A child process has its own descriptors.
        await #expect(processExitsWith: .success) {
            let root = try TemporaryDirectory()
            let pattern = try PolicyPattern(urls: "tel", source: "user")
            let key = RememberedAnswer.Key(pattern: pattern, handler: "com.example.target")
            var answers = RememberedAnswers()
            answers.add(RememberedAnswer(key, isAllowed: false, date: 1))
            try root.write(answers.text, to: "state/answers")
            let store = PolicyStore(
                PolicyFiles(administratorsDirectory: "\(root.path)/etc", usersDirectory: root.path),
                answersDirectory: "\(root.path)/state",
                on: try EventLoop(),
                log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            let bus = try FakeHandlers(["com.example.target": ":1.1"])
            let router = URLRouter([try .test("com.example.target")], on: bus, policy: store)

            let taken = TakenDescriptors()
            await router.load()
            let isComplete = await router.readConfiguration()
            var refusals = 0
            do {
                _ = try await router.policyAnswers()
            } catch {
                refusals += 1
            }
            do {
                _ = try await router.forgetAnswers(pattern)
            } catch {
                refusals += 1
            }
            taken.giveBack()
            #expect(!isComplete && refusals == 2)
            #expect(await router.readConfiguration())
            #expect(try await router.policyAnswers().map(\.handler) == ["com.example.target"])
            #expect(try await router.forgetAnswers(pattern) == 1)
            await router.wait { !$0.permissions.isWriting }
            withExtendedLifetime(root) {}
        }
    }

    /// An administrator's file that can never be read does not concern the user's rules.
    @Test func rulesAreChangedBesideAnUnreadableFile() async throws {
        let root = try TemporaryDirectory()
        let loop = try EventLoop()
        defer { loop.stop() }
        // Reading the memory of this process from its start fails with the error of a device.
        try root.link("etc/10.conf", to: "/proc/self/mem")
        let router = try makeRouter(in: root, on: loop)
        await router.load()
        #expect(await !router.readConfiguration())
        try await router.setRule(try PolicyPattern(urls: "tel", source: "user"), .deny)
    }

    @Test func changedRulesThatCannotBeReadAreAnError() async throws {
        let root = try TemporaryDirectory()
        let loop = try EventLoop()
        defer { loop.stop() }
        // The router reads these files after it has written the user's file, and before it reads that one.
        let comments = String(repeating: "# comment\n", count: 6000)
        for number in 10..<70 { try root.write(comments, to: "etc/\(number).conf") }
        let home = try root.makeDirectory("home")
        let file = "\(home)/policy.conf"
        let bad = "\(root.path)/bad"
        let other = try EventLoop()
        defer { other.stop() }
        // Puts a link in the place of each new file.
        try await other.run {
            let watch = try PathWatch(on: other) {
                var status = stat()
                guard lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
                // Reading the memory of this process from its start fails with the error of a device.
                #expect(symlink("/proc/self/mem", bad) == 0 && rename(bad, file) == 0)
            }
            watch.paths = [home]
        }
        let router = try makeRouter(in: root, on: loop)
        await router.load()
        let pattern = try PolicyPattern(urls: "tel", source: "user")
        var failure: RemoteError?
        // If the file is read before the link takes its place, nothing fails.
        while failure == nil {
            do {
                try await router.setRule(pattern, .deny)
                try await eventually(isLink(file)) { $0 }
                #expect(unlink(file) == 0)
            } catch let error as RemoteError {
                failure = error
            }
        }
        let reason = "the rules are written, but cannot be read at the moment; the router reads them as soon as it can"
        #expect(failure == RemoteError(.failed, reason))
    }

    /// The time from one reading to the next doubles, up to a limit.
    @Test func otherFilesAreReadUntilTheyAreComplete() async throws {
        let root = try TemporaryDirectory()
        let loop = try EventLoop()
        defer { loop.stop() }
        let pause = RetryPause(first: .milliseconds(40), longest: .milliseconds(160))
        let store = makeStore(in: root, pause: pause, on: loop)
        let (readings, reading) = AsyncStream.makeStream(of: Int.self)
        let count = Lock(0)
        await store.watch([]) {
            let number = count.withLock { count in
                count += 1
                return count
            }
            reading.yield(number)
            return number == 5
        }
        let start = ContinuousClock.now
        await store.follow { _ in }
        try await readings.next { $0 == 5 }
        // The pauses of 40, 80, 160 and 160 ms come on top of the 100 ms for which no change may occur before a reading.
        #expect(ContinuousClock.now - start >= .milliseconds(800))
    }

    /// After a publication that was given up, one that succeeds for a single entry is not enough.
    @Test func handlersArePublishedOnceAFileSystemResponds() async throws {
        let root = try TemporaryDirectory()
        let loop = try EventLoop()
        defer { loop.stop() }
        try root.write(manifest("com.example.old"), to: "handlers/com.example.old.plist")
        let new = try root.write(manifest("com.example.new"), to: "com.example.new.plist")
        let isSilent = Lock(true)
        let publications = Lock(0)
        let log = RecordedLog()
        let pause = RetryPause(first: .milliseconds(20), longest: .milliseconds(100))
        let store = makeStore(in: root, command: "/bin/true", pause: pause, on: loop, log: log.logger) { work in
            publications.withLock { $0 += 1 }
            return isSilent.withLock { $0 } ? nil : work()
        }
        _ = await store.load()
        await store.follow { _ in }
        let handler = try await store.inspect(new).handler
        let registration = try await store.register(new, expecting: handler, isReplacing: true).0
        let reason = "is published later, because a file system is not responding"
        #expect(registration.warnings.map(\.reason).contains(reason))
        try await eventually(publications.withLock { $0 }) { $0 >= 4 }
        let warning = "handlers are published later, because a file system is not responding"
        #expect(log.lines.count { $0.hasSuffix(warning) } == 1)
        isSilent.withLock { $0 = false }
        await store.publishCallbacks(["callback"], 1)
        for name in ["com.example.old", "com.example.new", "org.openurl.callback"] {
            try await eventually(access("\(root.path)/.local/share/applications/\(name).desktop", F_OK)) { $0 == 0 }
        }
    }

    /// An application's entry that can never be read does not delay the publication of a handler.
    @Test func handlersArePublishedBesideAnUnreadableEntry() async throws {
        let root = try TemporaryDirectory()
        let loop = try EventLoop()
        defer { loop.stop() }
        try root.write(manifest("com.example.old"), to: "handlers/com.example.old.plist")
        let new = try root.write(manifest("com.example.new"), to: "com.example.new.plist")
        // Reading the memory of this process from its start fails with the error of a device.
        try root.link(".local/share/applications/bad.desktop", to: "/proc/self/mem")
        let publications = Lock(0)
        // The next attempt begins at once, so there is nearly always one that is not done.
        let pause = RetryPause(first: .zero, longest: .zero)
        let store = makeStore(in: root, command: "/bin/true", pause: pause, on: loop) { work in
            publications.withLock { $0 += 1 }
            return work()
        }
        _ = await store.load()
        await store.follow { _ in }
        try await eventually(publications.withLock { $0 }) { $0 >= 3 }
        let handler = try await store.inspect(new).handler
        let registration = try await store.register(new, expecting: handler, isReplacing: true).0
        let reason = "is published later, because a file system is not responding"
        #expect(!registration.warnings.map(\.reason).contains(reason))
        #expect(access("\(root.path)/.local/share/applications/com.example.new.desktop", F_OK) == 0)
    }
}

/// Returns a store that sees only what is in a directory.
private func makeStore(
    in root: TemporaryDirectory,
    command: String? = nil,
    pause: RetryPause = RetryPause(first: .seconds(1), longest: .seconds(60)),
    on loop: EventLoop,
    log: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
    publicationRunner: DesktopPublisher.Runner? = nil
) -> RegistryStore {
    RegistryStore(
        RegistryDirectories(user: "\(root.path)/handlers", system: []),
        desktop: DesktopDirectories(environment: [
            "HOME": root.path, "XDG_CONFIG_DIRS": "\(root.path)/etc", "XDG_DATA_DIRS": "\(root.path)/data",
        ]),
        command: command,
        cache: nil,
        patience: .seconds(240),
        pause: pause,
        publicationRunner: publicationRunner,
        on: loop,
        log: log
    )
}

/// Returns a router with the files of rules in a directory.
private func makeRouter(in root: TemporaryDirectory, on loop: EventLoop) throws -> URLRouter {
    let store = PolicyStore(
        PolicyFiles(administratorsDirectory: "\(root.path)/etc", usersDirectory: "\(root.path)/home"),
        answersDirectory: nil,
        on: loop,
        log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    )
    let bus = try FakeHandlers(["com.example.target": ":1.1"])
    return URLRouter([try .test("com.example.target")], on: bus, policy: store)
}

private func manifest(_ id: String) -> String {
    """
    <?xml version="1.0" encoding="UTF-8"?>
    <plist version="1.0">
    <dict>
        <key>CFBundleIdentifier</key>
        <string>\(id)</string>
        <key>CFBundleExecutable</key>
        <string>/bin/true</string>
        <key>CFBundleURLTypes</key>
        <array>
            <dict>
                <key>CFBundleURLName</key>
                <string>\(id)</string>
                <key>CFBundleURLSchemes</key>
                <array>
                    <string>\(id)</string>
                </array>
            </dict>
        </array>
    </dict>
    </plist>
    """
}
