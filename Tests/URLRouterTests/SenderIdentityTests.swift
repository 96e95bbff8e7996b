import Foundation
import Glibc
import OpenURLBus
import Processes
import SchemeRegistry
import TestSupport
import Testing

@testable import DBus
@testable import URLRouter

/// The identification of senders, and its consequences.
@Suite(.timeLimit(.minutes(10))) struct SenderIdentityTests {
    /// A connection of this process. The tests make this process a handler.
    private static let sender: BusName = ":1.50"
    private static let stranger: BusName = ":1.99"
    private static let user: BusName = ":1.60"
    private static let pid = UInt32(getpid())

    /// Returns a router that knows this process as `com.example.sender`. The handler `com.example.target` also runs.
    private func router(
        limits: RouterLimits = RouterLimits(),
        target: (inout HandlerManifest) throws -> Void = { _ in },
        sender: (inout HandlerManifest) throws -> Void = { _ in }
    ) async throws -> (URLRouter, FakeHandlers) {
        let bus = try FakeHandlers(
            ["com.example.sender": Self.sender, "com.example.target": ":1.1"],
            // The target can be any process that lasts, for example process 1.
            processes: [Self.sender: Self.pid, ":1.51": Self.pid, ":1.1": 1, Self.user: UInt32(getppid())]
        )
        let handlers: [Handler] = [
            // A process counts as a handler only if it runs the handler's program.
            try .test("com.example.sender", program: .path("/proc/self/exe")) {
                // The router must not stop this process.
                $0.suspendDelay = .seconds(3600)
                try sender(&$0)
            },
            try .test("com.example.target", target),
        ]
        // This process descends from the process of the sender.
        let router = URLRouter(
            handlers,
            on: bus,
            limits: limits,
            examine: { _, pid, _ in pid == 1 ? .isInSandbox : .descends }
        )
        let statuses = await router.status()
        #expect(statuses.map(\.pid) == [Self.pid, 1])
        #expect(statuses.allSatisfy { [.known(.active), .known(.inactive), .known(.background)].contains($0.state) })
        return (router, bus)
    }

    private func open(_ url: String, from caller: BusName, _ router: URLRouter, _ bus: FakeHandlers) async throws
        -> OpenContext
    {
        let request = Task { try await router.open(url, from: caller) }
        await bus.wait(for: .opened(url, at: ":1.1"))
        bus.answer(url)
        _ = try await request.value
        return try #require(bus.context(of: url))
    }

    @Test func sendingHandlerIsRecognisedByItsProcessOnEveryConnection() async throws {
        let (router, bus) = try await router()
        for caller: BusName in [Self.sender, ":1.51"] {
            let context = try await open("target:\(caller.rawValue)", from: caller, router, bus)
            #expect(context.sourceApplication == "com.example.sender")
            #expect(context.source.pid == Self.pid)
            #expect(context.source.uid == getuid())
            #expect(context.source.callerClass == .known(.handler))
            #expect(context.source.application == "com.example.sender")
            #expect(context.source.uniqueName == caller.rawValue)
            #expect(context.hops == 1)
        }
        let context = try await open("target:stranger", from: Self.stranger, router, bus)
        #expect(context.sourceApplication == nil)
        #expect(context.source.pid == nil)
        #expect(context.source.uniqueName == Self.stranger.rawValue)
        #expect(context.hops == 0)
    }

    @Test func onlyAProcessThatARouterHasStartedSpeaksForTheHandler() async throws {
        // Somebody has started the target by hand.
        let bus = try FakeHandlers(
            ["com.example.target": Self.sender, "com.example.other": ":1.1"],
            processes: [Self.sender: Self.pid]
        )
        let router = URLRouter([try .test("com.example.target"), try .test("com.example.other")], on: bus)
        #expect(await router.status().map(\.pid) == [nil, Self.pid])
        let context = try await open("other:x", from: Self.sender, router, bus)
        #expect(context.sourceApplication == nil)
        #expect(context.source.pid == Self.pid)
    }

    /// A reply gives a process no more rights than a URL that it opens itself.
    @Test(arguments: [
        (OwnerClaim.descends, false, CallerClass.handler), (.descends, true, .sandboxed), (.isInSandbox, false, .user),
    ])
    func callbackComesFromTheProcessThatHasReplied(
        _ claim: OwnerClaim,
        isConfined: Bool,
        _ callerClass: CallerClass
    ) async throws {
        let process = try RunningProcess(wrapper: isConfined ? ["/usr/bin/unshare", "--user"] : [])
        defer { process.end() }
        try await process.waitUntilItRuns()
        let context = try await contextOfCallback(from: process.pid, claim)
        #expect(context.source.callerClass == .known(callerClass))
        #expect(context.sourceApplication == (claim.isStrong ? "com.example.target" : nil))
        #expect(context.source.application == context.sourceApplication)
        // A program of the user is known by its path.
        let isProgram = callerClass == .user
        #expect(context.source.pid == (isProgram ? process.pid : nil))
        #expect(context.source.executable == (isProgram ? ProcessProgram.path(pid: process.pid) : nil))
    }

    @Test func callbackOfAnUnknownProcessHasFewRights() async throws {
        for (claim, expected) in [(OwnerClaim.descends, CallerClass.sandboxed), (.isInSandbox, .unknown)] {
            #expect(try await contextOfCallback(from: nil, claim).source.callerClass == .known(expected))
        }
    }

    /// Opens a URL that asks for a callback, and returns the callback's context.
    ///
    /// - Parameter process: the handler's process; nil if the bus does not report it.
    private func contextOfCallback(from process: UInt32?, _ claim: OwnerClaim) async throws -> OpenContext {
        let bus = try FakeHandlers(
            ["com.example.sender": Self.sender, "com.example.target": ":1.1"],
            processes: [Self.sender: Self.pid]
        )
        if let process { bus.setProcess(of: ":1.1", to: process) }
        let handlers: [Handler] = [
            // The router must not stop this process.
            try .test("com.example.sender", program: .path("/proc/self/exe")) { $0.suspendDelay = .seconds(3600) },
            try .test("com.example.target") { $0.answersCallbacks = true },
        ]
        let router = URLRouter(handlers, on: bus, examine: { _, pid, _ in pid == Self.pid ? .descends : claim })
        _ = await router.status()
        let url = "target://x-callback-url/go?x-success=sender://ok"
        let request = Task { try await router.open(url, from: Self.sender) }
        await bus.wait(for: .opened(url, at: ":1.1"))
        bus.answer(url)
        _ = try await request.value
        await bus.wait(for: .opened("sender://ok?k=v", at: Self.sender))
        bus.answer("sender://ok?k=v")
        return try #require(bus.context(of: "sender://ok?k=v"))
    }

    /// The portal's identifier for a program can be the one that the program has asked for.
    @Test func portalDoesNotSayWhoTheSenderIs() {
        var source = OpenContext.Source()
        source.callerClass = .known(.user)
        source.executable = "/usr/libexec/xdg-desktop-portal"
        source.isIntermediary = true
        let portal = Caller(source)
        for callerClass in CallerClass.allCases {
            var known = OpenContext.Source()
            known.callerClass = .known(callerClass)
            let sender = PortalChooser.originator(Caller(known), isNamed: true, by: portal)
            #expect(sender.callerClass == callerClass)
            #expect(sender.source.application == nil)
            #expect(sender.source.via == ["/usr/libexec/xdg-desktop-portal"])
        }
        let sender = PortalChooser.originator(Caller(OpenContext.Source()), isNamed: false, by: portal)
        #expect(sender.source.isIntermediary && sender.callerClass == .user)
    }

    /// The look-up of a sender waits for the running handlers.
    @Test func everyRequestDuringTheAdoptionIsDelivered() async throws {
        let (router, bus) = try await router()
        for number in 0..<300 {
            await router.prepareToAdopt()
            let request = Task { try await router.open("target:\(number)", from: Self.sender) }
            await router.adoptRunning()
            await bus.wait(for: .opened("target:\(number)", at: ":1.1"))
            bus.answer("target:\(number)")
            _ = try await request.value
        }
    }

    @Test func contextHasTheOptionsOfTheSender() async throws {
        let (router, bus) = try await router()
        var options = OpenOptions()
        options.annotation = "note"
        options.activationToken = "token"
        options.desktopStartupID = "startup"
        let request = Task { [options] in try await router.open("target:x", options, caller: nil) }
        await bus.wait(for: .opened("target:x", at: ":1.1"))
        bus.answer("target:x")
        _ = try await request.value
        let context = try #require(bus.context(of: "target:x"))
        #expect(context.annotation == "note")
        #expect(context.activationToken == "token")
        #expect(context.desktopStartupID == "startup")
        #expect(context.source == OpenContext.Source())
        #expect(try #require(context.accepted) <= TracePhase.now)
    }

    @Test(arguments: [
        ("com.example.sender", true), ("com.example.*", true), ("*", true), ("com.example.other", false),
    ])
    func onlyAllowedSourcesMaySend(pattern: String, isAllowed: Bool) async throws {
        let (router, bus) = try await router { $0.allowedSources = [try SourcePattern(pattern)] }
        if isAllowed {
            let context = try await open("target:x", from: Self.sender, router, bus)
            #expect(context.sourceApplication == "com.example.sender")
        } else {
            let error = await failure { () throws(OpenURLError) in
                try await router.open("target:x", from: Self.sender)
            }
            #expect(error == OpenURLError(.notAllowed, "com.example.target takes no URLs from com.example.sender"))
        }
        // A caller that is not a handler matches no pattern, even the pattern for every handler.
        let error = await failure { () throws(OpenURLError) in
            try await router.open("target:y", from: Self.user)
        }
        #expect(error == OpenURLError(.notAllowed, "com.example.target takes no URLs from this program"))
        #expect(await router.waiting(for: "com.example.target") == 0)
        #expect(bus.opened == [])
    }

    @Test(arguments: CallerClass.allCases) func localHandlerTakesURLsOfTheUserAlone(_ callerClass: CallerClass) throws {
        var manifest = HandlerManifest(identifier: try BundleIdentifier("com.example.local"), executable: nil)
        manifest.reach = .local
        let handler = Handler(
            manifest: manifest,
            path: "/local.plist",
            entry: "/local.plist",
            program: nil,
            scope: .user,
            precedence: 0,
            registrationDate: RegistrationDate(nanoseconds: 0)
        )
        let isAllowed = [CallerClass.user, .handler].contains(callerClass)
        do throws(OpenURLError) {
            try handler.checkAccess(of: nil, callerClass)
            #expect(isAllowed)
        } catch {
            // A confined sender does not learn that the handler exists.
            #expect(!isAllowed && error == OpenURLError.noReachableHandler)
        }
    }

    @Test func refusedRequestDoesNotDelayTheNextOne() async throws {
        let (router, bus) = try await router { $0.allowedSources = [try SourcePattern("com.example.sender")] }
        bus.hold(Self.stranger)
        let refused = Task { try await router.open("target:1", from: Self.stranger) }
        await bus.wait(for: .askedWhoIs(Self.stranger))
        let allowed = Task { try await router.open("target:2", from: Self.sender) }
        await router.wait { $0.waiting(for: "com.example.target") == 2 }
        bus.release(Self.stranger)
        await #expect(throws: OpenURLError.self) { try await refused.value }
        await bus.wait(for: .opened("target:2", at: ":1.1"))
        bus.answer("target:2")
        _ = try await allowed.value
    }

    @Test func hopsBetweenHandlersAreCounted() async throws {
        let (router, bus) = try await router()
        let deep = Task { try await router.open("sender:deep", from: Self.stranger) }
        await bus.wait(for: .opened("sender:deep", at: Self.sender))
        await router.setHops(7, inHandOf: "com.example.sender")
        #expect(try await open("target:8", from: Self.sender, router, bus).hops == 8)
        await router.setHops(8, inHandOf: "com.example.sender")
        let error = await failure { () throws(OpenURLError) in
            try await router.open("target:9", from: Self.sender)
        }
        #expect(error == OpenURLError(.loopDetected, "9 handlers in a row have opened each other"))
        bus.answer("sender:deep")
        _ = try await deep.value
        // A request that the handler has answered does not count towards the hops of the next URL.
        #expect(try await open("target:3", from: Self.sender, router, bus).hops == 1)
    }

    @Test func handlerThatWaitsForItselfIsALoop() async throws {
        var limits = RouterLimits()
        limits.circleTimeout = .milliseconds(20)
        let (router, bus) = try await router(limits: limits)
        let first = Task { try await router.open("sender:1", from: Self.stranger) }
        await bus.wait(for: .opened("sender:1", at: Self.sender))
        let error = await failure { () throws(OpenURLError) in
            try await router.open("sender:2", from: Self.sender)
        }
        #expect(
            error
                == OpenURLError(
                    .loopDetected,
                    "com.example.sender is still opening the URL that led to this one, "
                        + "and each would wait for the other"
                )
        )
        #expect(bus.opened == [])
        bus.answer("sender:1")
        _ = try await first.value
    }

    @Test func handlerThatDoesNotWaitMayOpenItsOwnURL() async throws {
        var limits = RouterLimits()
        limits.circleTimeout = .seconds(3600)
        let (router, bus) = try await router(limits: limits)
        let first = Task { try await router.open("sender:1", from: Self.stranger) }
        await bus.wait(for: .opened("sender:1", at: Self.sender))
        let second = Task { try await router.open("sender:2", from: Self.sender) }
        await router.wait { $0.waiting(for: "com.example.sender") == 1 }
        let third = Task { try await router.open("sender:3", from: Self.stranger) }
        await router.wait { $0.waiting(for: "com.example.sender") == 2 }
        #expect(bus.opened == [])
        bus.answer("sender:1")
        for url in ["sender:2", "sender:3"] {
            await bus.wait(for: .opened(url, at: Self.sender))
            bus.answer(url)
        }
        for task in [first, second, third] { #expect(try await task.value.handler == "com.example.sender") }
        #expect(bus.context(of: "sender:2")?.hops == 1)
    }

    @Test func handlerMayQueryOnlyItsListedSchemes() async throws {
        let (router, _) = try await router(sender: { $0.queriesSchemes = [try Scheme("target")] })
        #expect(try await router.canOpen("target:x", caller: Self.sender))
        #expect(try await router.canOpen("TARGET:x", caller: Self.sender))
        #expect(try await !router.canOpen("sender:x", caller: Self.sender))
        #expect(try await router.canOpen("sender:x", caller: Self.user))
        #expect(try await !router.canOpen("unclaimed:x", caller: Self.user))
        // A program that has gone learns nothing.
        #expect(try await !router.canOpen("sender:x", caller: Self.stranger))
        await #expect {
            try await router.canOpen("target: x", caller: Self.stranger)
        } throws: { error in
            (error as? OpenURLError)?.code == .malformedURL
        }
    }

    @Test func forbiddenURLCannotBeOpened() async throws {
        let (router, _) = try await router(
            target: { $0.allowedSources = [try SourcePattern("com.example.sender")] },
            sender: { $0.queriesSchemes = [try Scheme("target")] }
        )
        #expect(try await router.canOpen("target:x", caller: Self.sender))
        #expect(try await !router.canOpen("target:x", caller: Self.stranger))
    }

    // MARK: Identity of a caller

    @Test func processIsDescribedFromProc() throws {
        let entry = KnownCallers.Entry(":1.5", Credentials(pid: Self.pid, uid: getuid(), processDescriptor: nil))
        let source = entry.source
        #expect(entry.process == ProcessIdentity(pid: Self.pid))
        #expect(source.callerClass == .known(.user))
        #expect(source.uniqueName == ":1.5")
        #expect(source.pid == Self.pid)
        #expect(source.uid == getuid())
        var path = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &path, path.count)
        #expect(source.executable == String(decoding: path.prefix(count).map(UInt8.init), as: UTF8.self))
        #expect(source.unit.map { $0.hasSuffix(".scope") || $0.hasSuffix(".service") } ?? true)

        let other = KnownCallers.Entry(":1.5", Credentials(pid: Self.pid, uid: getuid() + 1, processDescriptor: nil))
        #expect(other.source.callerClass == .known(.sandboxed))

        let gone = KnownCallers.Entry(":1.6", Credentials(pid: .max, uid: nil, processDescriptor: nil)).source
        #expect(gone.callerClass == .known(.unknown))
        #expect(gone.executable == nil)
        #expect(gone.unit == nil)
        var unknown = OpenContext.Source()
        unknown.uniqueName = ":1.7"
        unknown.callerClass = .known(.unknown)
        #expect(KnownCallers.Entry(":1.7", nil).source == unknown)
    }

    /// A package's update replaces the file of a running proxy, and a proxy of the user's own serves sandboxes, too.
    @Test(arguments: [
        ("/usr/bin/xdg-dbus-proxy", true), ("/opt/flatpak/bin/xdg-dbus-proxy", true),
        ("/usr/bin/xdg-dbus-proxy (deleted)", true), ("/usr/bin/bwrap", true), ("/usr/bin/bash", false),
        ("/xdg-dbus-proxy/bash", false),
    ])
    func proxyIsRecognisedWhereverItIs(path: String, isProxy: Bool) {
        #expect(URLOrigin.isProxy(path) == isProxy)
    }

    /// A package's update replaces the file of a running portal, too.
    @Test(arguments: [
        ("/usr/libexec/xdg-desktop-portal", true), ("/usr/libexec/xdg-desktop-portal (deleted)", true),
        ("/home/a/xdg-desktop-portal", false), ("/home/a/xdg-desktop-portal (deleted)", false),
        ("/usr/bin/bash", false),
    ])
    func portalIsRecognisedAfterAnUpdate(path: String, isPortal: Bool) {
        #expect(URLOrigin.isPortal(path) == isPortal)
    }

    /// snapd passes on the URLs of snaps, and the router does not learn whose.
    @Test(arguments: [
        ("/usr/bin/snap", true), ("/snap/snapd/21759/usr/bin/snap", true),
        ("/var/lib/snapd/snap/core/1/usr/bin/snap (deleted)", true), ("/usr/bin/snapshot", false),
        ("/snap/firefox/1/usr/lib/firefox/firefox", false), ("/usr/bin/snap/bash", false),
    ])
    func snapdIsRecognised(path: String, isSnapd: Bool) {
        #expect(URLOrigin.isSnapd(path) == isSnapd)
    }

    @Test func snapdIsAnIntermediary() async throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let program = try directory.makeParents(of: "usr/bin/snap")
        // Another process copies the program, as `writeProgram` does.
        let install = URL(filePath: "/usr/bin/install")
        let copy = try ChildProcess.run(install, arguments: ["-m", "755", "/bin/sleep", program])
        copy.waitUntilExit()
        try #require(copy.terminationStatus == 0)
        let process = ChildProcess()
        process.executableURL = URL(filePath: program)
        process.arguments = ["600"]
        try process.run()
        defer { kill(process.processIdentifier, SIGKILL) }
        let pid = UInt32(process.processIdentifier)
        try await eventually(ProcessProgram.path(pid: pid)) { $0?.hasSuffix("/usr/bin/snap") == true }
        #expect(URLOrigin(ofCaller: pid).isIntermediary)
        #expect(!URLOrigin(ofCaller: Self.pid).isIntermediary)
    }

    /// A connection may have another process than the one that was asked.
    @Test func changeOfTheProcessIsNoticed() async throws {
        let process = ChildProcess()
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = ["-c", "echo; read line; exec cat"]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        defer { process.terminate() }
        // The shell runs when it has written the line.
        #expect(try output.fileHandleForReading.read(upToCount: 1)?.count == 1)
        let pid = UInt32(process.processIdentifier)
        let entry = KnownCallers.Entry(":1.9", Credentials(pid: pid, uid: getuid(), processDescriptor: nil))
        #expect(entry.source.callerClass == .known(.user))
        #expect(entry.isUnchanged)
        try input.fileHandleForWriting.write(contentsOf: Data("go\nx\n".utf8))
        // The other program runs when it has repeated the line.
        #expect(try output.fileHandleForReading.read(upToCount: 2)?.count == 2)
        #expect(!entry.isUnchanged)
        let other = KnownCallers.Entry(":1.10", Credentials(pid: pid, uid: getuid(), processDescriptor: nil))
        #expect(other.isUnchanged)
        try input.fileHandleForWriting.close()
        process.waitUntilExit()
        #expect(!other.isUnchanged)
        // A caller of which nothing is allowed needs no second look.
        #expect(KnownCallers.Entry(":1.11", nil).isUnchanged)
    }

    @Test func onlyTheLast1024CallersAreKept() {
        var callers = KnownCallers()
        for number in 0..<1024 {
            let name = BusName(trusted: ":1.\(number)")
            callers.add(name, KnownCallers.Entry(name, nil))
        }
        let nothing = KnownCallers.Entry(source: OpenContext.Source(), process: nil)
        callers.add(":1.0", nothing)
        #expect(callers[":1.0"] != nil)
        callers.add(":2.0", nothing)
        #expect(callers[":1.0"] == nil)
        #expect(callers[":1.1"]?.source.uniqueName == ":1.1")
        #expect(callers[":2.0"] != nil)
    }

    @Test func callerIsLookedUpOnce() async throws {
        let (router, bus) = try await router()
        for url in ["target:1", "target:2"] { _ = try await open(url, from: ":1.51", router, bus) }
        #expect(bus.count(of: .askedWhoIs(":1.51")) == 1)
    }

    // MARK: Environment of a handler

    @Test func handlerInheritsTheSessionButNotTheRoutersOwnVariables() {
        let kept = [
            "HOME": "/home/u", "PATH": "/bin", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/x", "XDG_RUNTIME_DIR": "/run",
            "WAYLAND_DISPLAY": "w", "LANG": "", "MULTI": "a=b\nc",
        ]
        let dropped = [
            "OPENURL_LAUNCH", "OPENURL_REACH", "OPENURL_BUNDLE", "OPENURL_DATA", "OPENURL_CACHE", "OPENURL_INBOX",
            "DBUS_STARTER_ADDRESS", "DBUS_STARTER_BUS_TYPE", "XDG_ACTIVATION_TOKEN",
            "DESKTOP_STARTUP_ID", "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "WATCHDOG_USEC",
            "WATCHDOG_PID", "INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MAINPID", "MANAGERPID", "PWD",
            "OLDPWD", "SHLVL", "_", "", "A=B",
        ]
        var environment = kept
        for name in dropped { environment[name] = "x" }
        #expect(SessionEnvironment.clean(environment) == kept)
    }
}

extension URLRouter {
    /// Sets the number of hops of the requests that a handler is working on.
    fileprivate func setHops(_ hops: UInt32, inHandOf id: BusName) {
        for (_, request) in sessions[id]?.requests.inHand ?? [:] { request.context.hops = hops }
    }
}
