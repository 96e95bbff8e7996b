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

            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            var taken: [CInt] = []
            while let next = Optional(dup(STDERR_FILENO)), next >= 0 { taken.append(next) }
            await store.follow { snapshot.yield($0) }
            let during = await snapshots.next()?.registry
            let isAdded = rename(new, "\(root.path)/handlers/com.example.new.plist") == 0
            // Without a shortage, this reading would be the last one, because nothing is watched.
            _ = await readings.next()
            for descriptor in taken { close(descriptor) }
            #expect(isAdded)
            #expect(during?.handlers.map(\.id.rawValue) == ["com.example.old"])
            #expect(during?.diagnostics.isEmpty == false)

            while let after = await snapshots.next()?.registry, after.handlers.count < 2 {}
            // By now, the files are watched, and have been read once more since.
            for _ in 0..<2 { _ = await readings.next() }
            #expect(rename(late, "\(root.path)/handlers/com.example.late.plist") == 0)
            while let after = await snapshots.next()?.registry, after.handlers.count < 3 {}
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

            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            var taken: [CInt] = []
            while let next = Optional(dup(STDERR_FILENO)), next >= 0 { taken.append(next) }
            await router.load()
            let isComplete = await router.readRules()
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
            for descriptor in taken { close(descriptor) }
            #expect(!isComplete && refusals == 2)
            #expect(await router.readRules())
            #expect(try await router.policyAnswers().map(\.handler) == ["com.example.target"])
            #expect(try await router.forgetAnswers(pattern) == 1)
            await router.wait { !$0.permissions.isWriting }
            withExtendedLifetime(root) {}
        }
    }

    @Test func changedRulesThatCannotBeReadAreAnError() async throws {
        let root = try TemporaryDirectory()
        let loop = try EventLoop()
        defer { loop.stop() }
        // Reading the memory of this process from its start fails with the error of a device.
        let bad = try root.link("etc/10.conf", to: "/proc/self/mem")
        let store = PolicyStore(
            PolicyFiles(administratorsDirectory: "\(root.path)/etc", usersDirectory: "\(root.path)/home"),
            answersDirectory: nil,
            on: loop,
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let bus = try FakeHandlers(["com.example.target": ":1.1"])
        let router = URLRouter([try .test("com.example.target")], on: bus, policy: store)
        await router.load()
        let pattern = try PolicyPattern(urls: "tel", source: "user")
        let reason = "the rules are written, but cannot be read now; they count once they can"
        await #expect(throws: RemoteError(.failed, reason)) { try await router.setRule(pattern, .deny) }
        #expect(unlink(bad) == 0)
        try await router.setRule(pattern, .deny)
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
        let pause = RetryPause(first: .milliseconds(20), longest: .milliseconds(100))
        let store = makeStore(in: root, command: "/bin/true", pause: pause, on: loop) { work in
            isSilent.withLock { $0 } ? nil : work()
        }
        _ = await store.load()
        await store.follow { _ in }
        let handler = try await store.inspect(new).handler
        let registration = try await store.register(new, expecting: handler, isReplacing: true).0
        let reason = "is published later, because a file system is not responding"
        #expect(registration.warnings.map(\.reason).contains(reason))
        isSilent.withLock { $0 = false }
        await store.publishCallbacks(["callback"], 1)
        for name in ["com.example.old", "com.example.new", "org.openurl.callback"] {
            try await eventually(access("\(root.path)/.local/share/applications/\(name).desktop", F_OK)) { $0 == 0 }
        }
    }

    /// A publication that was given up may still take effect.
    @Test func callbacksArePublishedAgainAfterALateRemoval() async throws {
        let root = try TemporaryDirectory()
        let loop = try EventLoop()
        defer { loop.stop() }
        let isSilent = Lock(false)
        let late = Lock<(@Sendable () -> DesktopPublication)?>(nil)
        let store = makeStore(in: root, command: "/bin/true", on: loop) { work in
            guard isSilent.withLock({ $0 }) else { return work() }
            late.withLock { $0 = work }
            return nil
        }
        let entry = "\(root.path)/.local/share/applications/org.openurl.callback.desktop"
        await store.publishCallbacks(["callback"], 1)
        #expect(access(entry, F_OK) == 0)
        isSilent.withLock { $0 = true }
        await store.publishCallbacks([], 2)
        isSilent.withLock { $0 = false }
        let removal = try #require(late.withLock { $0 })
        _ = removal()
        #expect(access(entry, F_OK) != 0)
        await store.publishCallbacks(["callback"], 3)
        #expect(access(entry, F_OK) == 0)
    }
}

/// Returns a store that sees only what is in a directory.
private func makeStore(
    in root: TemporaryDirectory,
    command: String? = nil,
    pause: RetryPause = RetryPause(first: .seconds(1), longest: .seconds(60)),
    on loop: EventLoop,
    publisher: RegistryStore.Publisher? = nil
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
        publisher: publisher,
        on: loop,
        log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    )
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
