import DBus
import Glibc
import OpenURLBus
import RFC1808
import Testing
import UserFiles

@testable import URLHandler

/// State that one process of a handler saves and the next process restores.
@MainActor @Suite(.timeLimit(.minutes(10))) final class SavedStateTests {
    private let directory: String
    private let path: String
    private var warnings: [String] = []

    init() throws {
        var template = Array("/tmp/openurl-state-XXXXXX".utf8CString)
        directory = String(cString: try #require(mkdtemp(&template)))
        path = directory + "/a/b/app.state"
    }

    deinit {
        for name in ["/a/b/app.state", "/a/b/app.state.1", "/a/b/app.state.2", "/a/b/app.state.new"] {
            unlink(directory + name)
        }
        for name in ["/a/b", "/a", ""] { rmdir(directory + name) }
    }

    /// Returns the file in the view of a process that has just started.
    private func file() -> SavedStateFile {
        SavedStateFile(SavedStateLocation(path: path)) { [self] in warnings.append($0) }
    }

    private func application(_ delegate: any ApplicationDelegate) -> Application {
        Application("com.example.app", delegate: delegate, store: file())
    }

    private func exists(_ suffix: String = "") -> Bool { access(path + suffix, F_OK) == 0 }

    private func write(_ bytes: [UInt8]) {
        mkdir(directory + "/a", 0o700)
        mkdir(directory + "/a/b", 0o700)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        _ = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        close(descriptor)
    }

    private let state = SavedState(version: 1, values: ["row": .integer(3)])

    // MARK: The file

    @Test func savedStateIsReturnedOnce() {
        file().save(state)
        #expect(exists() && !exists(".new"))
        var status = stat()
        stat(path, &status)
        #expect(status.st_mode & 0o777 == 0o600)
        let next = file()
        #expect(next.beginLaunch() == state)
        #expect(!exists() && exists(".1"))
        next.finishLaunch()
        #expect(!exists() && !exists(".1"))
        #expect(file().beginLaunch() == nil)
        #expect(warnings == [])
    }

    @Test func laterStateReplacesTheEarlierState() {
        file().save(state)
        let later = SavedState(version: 2, values: [:])
        file().save(later)
        #expect(file().beginLaunch() == later)
    }

    @Test func savingNothingRemovesTheFile() {
        file().save(state)
        file().save(nil)
        #expect(!exists())
        file().save(nil)
        #expect(warnings == [])
    }

    @Test func stateIsOfferedAgainAfterOneFailedLaunchAndDeletedAfterTwo() {
        file().save(state)
        #expect(file().beginLaunch() == state)
        #expect(file().beginLaunch() == state)
        #expect(warnings == [])
        #expect(file().beginLaunch() == nil)
        #expect(warnings == ["its state was deleted, because two launches with it have failed"])
        #expect(!exists() && !exists(".1") && !exists(".2"))
        #expect(file().beginLaunch() == nil)
        #expect(warnings.count == 1)
    }

    @Test func successfulLaunchEndsTheCountOfFailures() {
        file().save(state)
        #expect(file().beginLaunch() == state)
        let second = file()
        #expect(second.beginLaunch() == state)
        second.finishLaunch()
        #expect(!exists() && !exists(".1") && !exists(".2"))
        second.save(state)
        for _ in 1...2 { #expect(file().beginLaunch() == state) }
        #expect(warnings == [])
    }

    /// A process that could not remove the older state has saved a newer one.
    @Test func newestStateIsUsed() {
        let newer = SavedState(version: 1, values: ["row": .integer(4)])
        for older in 1...2 {
            file().save(state)
            for _ in 1...older { #expect(file().beginLaunch() == state) }
            file().save(newer)
            #expect(exists() && exists(".\(older)"))
            #expect(file().beginLaunch() == newer)
            #expect(file().beginLaunch() == newer)
            #expect(file().beginLaunch() == nil)
            #expect(!exists() && !exists(".1") && !exists(".2"))
        }
        #expect(warnings.count == 2)
    }

    @Test(arguments: [[], Array("something else".utf8), Array("openurl-state 2\n".utf8)])
    func invalidFileIsDeletedWithAWarning(bytes: [UInt8]) {
        write(bytes)
        #expect(file().beginLaunch() == nil)
        #expect(warnings == ["its state is damaged and was deleted: \(path)"])
        #expect(!exists() && !exists(".1"))
    }

    @Test func unwritablePathIsAWarning() {
        // A file stands in place of the directory.
        let blocked = SavedStateFile(SavedStateLocation(path: "/dev/null/app.state")) { [self] in warnings.append($0) }
        blocked.save(state)
        #expect(warnings.count == 1)
        #expect(warnings.first?.hasPrefix("its state cannot be saved: /dev/null/app.state: ") == true)
    }

    // MARK: The sequences

    @Test func encodedStateIsDecodedAtTheNextLaunch() async throws {
        let first = StatefulDelegate()
        first.filter = "today"
        let application = application(first)
        await application.handle(.activate)
        #expect(first.names == ["will", "did"])
        await application.handle(.enterBackground)
        #expect(first.names == ["will", "did", "background", "shouldSave", "encode"])
        #expect(exists())

        let second = StatefulDelegate()
        let names = await self.application(second).handle(.activate).map(\.name)
        #expect(second.filter == "today")
        #expect(second.names == ["will", "shouldRestore 1", "decode", "did"])
        #expect(
            names == [
                "willFinishLaunching", "shouldRestoreApplicationState", "didDecodeRestorableState",
                "didFinishLaunching",
                "didBecomeActive",
            ]
        )
        // The state has been used, so both files are gone.
        #expect(!exists() && !exists(".1"))
    }

    @Test func launchForAURLRestoresTheStateBeforeTheURL() async throws {
        file().save(SavedState(version: 1, values: ["filter": .string("today")]))
        let delegate = StatefulDelegate()
        _ = try await application(delegate).open(try GenericURL("app:x"), OpenContext())
        #expect(delegate.names == ["will", "shouldRestore 1", "decode", "did", "open today"])
    }

    @Test func stateIsSuspectUntilTheLaunchIsDone() async {
        file().save(SavedState(version: 1, values: ["filter": .string("today")]))
        let delegate = StatefulDelegate()
        delegate.atLaunch = { [self] in #expect(exists(".1")) }
        await application(delegate).handle(.activate)
        #expect(delegate.names.last == "did")
        #expect(!exists(".1"))
    }

    @Test func launchIsCountedBeforeItsFirstMethod() async {
        file().save(SavedState(version: 1, values: ["filter": .string("today")]))
        let delegate = StatefulDelegate()
        delegate.atStart = { [self] in #expect(!exists() && exists(".1")) }
        await application(delegate).handle(.activate)
        #expect(delegate.filter == "today")
    }

    @Test func endSavesTheStateOfAHandlerThatIsActive() async {
        let delegate = StatefulDelegate()
        delegate.filter = "today"
        let application = application(delegate)
        await application.handle(.prepareToTerminate)
        #expect(delegate.names == [] && !exists())
        await application.handle(.activate)
        await application.handle(.prepareToTerminate)
        #expect(delegate.names == ["will", "did", "shouldSave", "encode"])
        #expect(exists())
        await application.handle(.terminate)
        #expect(delegate.names.count == 4)
    }

    @Test func urlInTheBackgroundSavesTheState() async throws {
        let delegate = StatefulDelegate()
        delegate.filter = "today"
        let application = application(delegate)
        await application.handle(.enterBackground)
        unlink(path)
        var context = OpenContext()
        context.inBackground = true
        _ = try await application.open(try GenericURL("app:x"), context)
        #expect(delegate.names.suffix(3) == ["open today", "shouldSave", "encode"])
        #expect(exists())
    }

    @Test func stateOfAnotherVersionIsRestoredOnlyIfTheDelegateAgrees() async {
        final class Newer: ApplicationDelegate {
            var names: [String] = []
            let restorationVersion = 2
            func application(_: Application, didDecodeRestorableStateWith coder: RestorableStateCoder) {
                names.append("decode \(coder.version)")
            }
        }
        file().save(state)
        let newer = Newer()
        await application(newer).handle(.activate)
        #expect(newer.names == [])
        #expect(!exists() && !exists(".1"))

        file().save(SavedState(version: 2, values: state.values))
        await application(newer).handle(.activate)
        #expect(newer.names == ["decode 2"])
    }

    @Test func delegateThatRefusesTheStateIsAskedOnce() async {
        file().save(state)
        let delegate = StatefulDelegate()
        delegate.isWanted = false
        let application = application(delegate)
        await application.handle(.enterBackground)
        #expect(delegate.names == ["will", "shouldRestore 1", "did", "background", "shouldSave"])
        #expect(!exists())
    }

    @Test func emptyStateIsNotSaved() async {
        file().save(state)
        let delegate = StatefulDelegate()
        await application(delegate).handle(.enterBackground)
        #expect(delegate.names.suffix(2) == ["shouldSave", "encode"])
        #expect(!exists())
    }

    @Test func errorOfTheDelegateDoesNotEndTheLaunch() async throws {
        file().save(state)
        let delegate = StatefulDelegate()
        delegate.filter = "today"
        delegate.fails = true
        let application = application(delegate)
        let trace = await application.handle(.enterBackground)
        #expect(trace.filter { !$0.answer }.map(\.name) == ["didDecodeRestorableState", "willEncodeRestorableState"])
        #expect(application.state == .background)
        #expect(!exists())
    }
}

/// A delegate whose state is one string.
private final class StatefulDelegate: ApplicationDelegate {
    var filter: String?
    var isWanted = true
    var fails = false
    var atStart: () -> Void = {}
    var atLaunch: () -> Void = {}
    private(set) var names: [String] = []

    private struct Failure: Error {}

    func application(_ application: Application, willFinishLaunchingWithOptions options: LaunchOptions) -> Bool {
        names.append("will")
        atStart()
        return true
    }

    func application(_ application: Application, didFinishLaunchingWithOptions options: LaunchOptions) -> Bool {
        names.append("did")
        atLaunch()
        return true
    }

    func application(_ application: Application, handleOpen url: GenericURL) -> OpenResponse {
        names.append("open \(filter ?? "everything")")
        return true
    }

    func applicationDidEnterBackground(_ application: Application) { names.append("background") }

    func application(_ application: Application, shouldSaveApplicationState coder: RestorableStateCoder) -> Bool {
        names.append("shouldSave")
        return isWanted
    }

    func application(_ application: Application, willEncodeRestorableStateWith coder: RestorableStateCoder) throws {
        names.append("encode")
        if let filter { try coder.encode(filter, forKey: "filter") }
        if fails { throw Failure() }
    }

    func application(_ application: Application, shouldRestoreApplicationState coder: RestorableStateCoder) -> Bool {
        names.append("shouldRestore \(coder.version)")
        return isWanted
    }

    func application(_ application: Application, didDecodeRestorableStateWith coder: RestorableStateCoder) throws {
        names.append("decode")
        if fails { throw Failure() }
        filter = try coder.decode(String.self, forKey: "filter")
    }
}
