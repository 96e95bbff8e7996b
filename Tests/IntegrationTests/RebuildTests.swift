import DBus
import Foundation
import Glibc
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// A program that is built anew while the handler's process runs.
@Suite(.timeLimit(.minutes(10))) struct RebuildTests {
    private static let id = "com.example.app"
    private static let other = "com.example.other"

    private func router(_ arguments: [String] = [], _ extra: [String: Any] = [:]) async throws -> RouterProcess {
        try await RouterProcess([Self.other: []]) { directory in
            let program = Self.program(in: directory)
            try Self.build(program)
            let keys: [String: Any] = ["CFBundleExecutable": program.path, "OUSuspendDelay": 3600]
            try RouterProcess.write(Self.id, arguments, in: directory, extra: keys.merging(extra) { $1 })
        }
    }

    private static func program(in directory: URL) -> URL { directory.appending(path: "program") }

    /// Puts a new file in the place of the program, as a linker does.
    private static func build(_ program: URL) throws {
        let next = program.appendingPathExtension("next")
        // A child of another test could inherit a file that this process writes, and a file that is open for writing cannot
        // be executed.
        let copy = try ChildProcess.run(
            URL(filePath: "/bin/cp"),
            arguments: [RouterProcess.products.appending(path: "testhandler").path, next.path]
        )
        copy.waitUntilExit()
        #expect(copy.terminationStatus == 0)
        #expect(rename(next.path, program.path) == 0)
    }

    private func rebuild(_ router: RouterProcess) throws { try Self.build(Self.program(in: router.bus.directory)) }

    private var inBackground: OpenOptions {
        var options = OpenOptions()
        options.inBackground = true
        return options
    }

    private func pid(_ router: RouterProcess) async throws -> UInt32? { try await router.status(of: Self.id).pid }

    @Test func handlerInTheBackgroundIsReplaced() async throws {
        let router = try await router(["state=kept"])
        defer { router.stop() }
        _ = try await router.open("app:first")
        let before = try await pid(router)
        try await router.lifecycle(LifecycleInterface.background, Self.id)
        // Without a build, the process stays.
        #expect(try await router.open("app:second", inBackground).way == .background)
        #expect(try await pid(router) == before)
        try rebuild(router)
        #expect(try await router.open("app:third").way == .launched)
        #expect(try await pid(router) != before)
        #expect(try await router.open("app:fourth").way == .active)
        let opened = try router.log(of: Self.id).filter { $0.hasPrefix("open ") }
        #expect(opened == ["open app:first", "open app:second", "open app:third", "open app:fourth"])
    }

    @Test func suspendedHandlerIsReplaced() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("app:first")
        let before = try await pid(router)
        try await router.lifecycle(LifecycleInterface.suspend, Self.id)
        try rebuild(router)
        #expect(try await router.open("app:second").way == .launched)
        #expect(try await pid(router) != before)
    }

    /// All URLs that arrive together reach the new program, in their order.
    @Test func urlsThatArriveTogetherStayInOrder() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("app:first")
        try await router.lifecycle(LifecycleInterface.background, Self.id)
        try rebuild(router)
        let urls = (0..<20).map { "app:\($0)" }
        let outcomes = try await router.connection.call(
            RouterInterface.openURLs,
            on: RouterService.object,
            Arguments(urls, OpenOptions())
        )
        #expect(outcomes.count == 20)
        let log = try router.log(of: Self.id)
        #expect(log.filter { $0.hasPrefix("start ") }.count == 2, "\(log)")
        let opened = log.filter { $0.hasPrefix("open ") }.dropFirst()
        #expect(Array(opened) == urls.map { "open \($0)" })
    }

    @Test func handlerInTheForegroundStays() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("app:first")
        let before = try await pid(router)
        try rebuild(router)
        let second = try await router.open("app:second")
        #expect(second.way == .active && second.runsEarlierProgram)
        #expect(try await pid(router) == before)
        // The sender and the user learn that the new program does not run yet.
        #expect(
            try await router.openurl("app:third") == CommandRun(status: 0, output: "", errors: "openurl: \(note)\n")
        )
        #expect(try await router.openurl("--verbose", "app:fourth").errors == "openurl: \(note)\n")
        #expect(try await router.openurl("--quiet", "app:fifth").errors == "")
        for arguments in [["status"], ["status", Self.id]] {
            let shown = try await router.openurl(arguments)
            let text = shown.output + shown.errors
            #expect(text.replacing("\n", with: " ").contains(note), "\(text)")
        }
        #expect(try await router.openurl("restart", Self.id).status == 0)
        #expect(try await router.open("app:sixth").runsEarlierProgram == false)
        #expect(try await router.status(of: Self.id).runsEarlierProgram == false)
    }

    private var note: String {
        "\(Self.id) still runs the program it was started from; 'openurl restart \(Self.id)' starts the new one"
    }

    @Test func manifestMayKeepTheProcess() async throws {
        let router = try await router([], ["OUKeepOldProgram": true])
        defer { router.stop() }
        _ = try await router.open("app:first")
        let before = try await pid(router)
        try await router.lifecycle(LifecycleInterface.background, Self.id)
        try rebuild(router)
        let second = try await router.open("app:second")
        #expect(second.way == .background && !second.runsEarlierProgram)
        #expect(try await pid(router) == before)
        #expect(try await router.status(of: Self.id).runsEarlierProgram)
    }

    @Test func handlerWithABackgroundTaskStays() async throws {
        let router = try await router(["task=upload"])
        defer { router.stop() }
        _ = try await router.open("app:first")
        let before = try await pid(router)
        try await router.lifecycle(LifecycleInterface.background, Self.id)
        try rebuild(router)
        let second = try await router.open("app:second")
        #expect(second.way == .background && second.runsEarlierProgram)
        #expect(try await pid(router) == before)
    }

    /// In the middle of a build there is no program. The old process still answers.
    @Test func handlerWithoutAProgramStays() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("app:first")
        let before = try await pid(router)
        try await router.lifecycle(LifecycleInterface.background, Self.id)
        try FileManager.default.removeItem(at: Self.program(in: router.bus.directory))
        let second = try await router.open("app:second")
        #expect(second.way == .background && !second.runsEarlierProgram)
        #expect(try await pid(router) == before)
    }

    @Test func restartReplacesAHandlerInTheForeground() async throws {
        let router = try await router()
        defer { router.stop() }
        _ = try await router.open("app:first")
        let before = try await pid(router)
        try rebuild(router)
        #expect(try await router.openurl("restart", Self.id) == CommandRun(status: 0, output: "", errors: ""))
        #expect(try await router.status(of: Self.id).state == .known(.active))
        #expect(try await pid(router) != before)
        // A handler that does not run is started.
        #expect(try await router.openurl("stop", Self.id).status == 0)
        #expect(try await router.status(of: Self.id).state == .known(.notRunning))
        #expect(try await router.openurl("restart", "--background", Self.id).status == 0)
        #expect(try await router.status(of: Self.id).state == .known(.background))
    }
}
