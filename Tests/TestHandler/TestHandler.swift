import DBus
import Foundation
import Glibc
import OpenURL
import OpenURLBus
import RFC1808
import URLHandler

/// A handler that behaves as its arguments say. Each event adds a line to the handler's log.
///
/// The first two arguments are the bundle identifier and the path of the log. Any of these arguments follow:
///
/// - `exit=STATUS`: exit at once.
/// - `startDelay=MS`: sleep before the handler takes its name.
/// - `gate`: take the name when the test has opened the gate, a pipe with the log's name and `.gate`.
/// - `gate=PHASE`: go on in a phase when the test has opened the gate, whether the URL of `open` is cancelled or not.
/// - `will=no`, `did=no`: return false from the launch methods.
/// - `hang=PHASE`: block in a phase.
/// - `faults`: take a fault from the file with the log's name and `.fault`, once: block in the phase that the file names, or
///   begin a background task without an end if the file holds `task`.
/// - `hang-url=URL`: block on that URL.
/// - `stall-url=URL`: wait without end on that URL, and leave the main actor free.
/// - `task-url`: begin and end a background task for each URL.
/// - `decline=REASON`: decline every URL.
/// - `crash=HOST`: crash on a URL with that host.
/// - `fatal=HOST`: end with a fatal error of Swift on a URL with that host.
/// - `throw=TEXT`: throw an error.
/// - `forward=URL`: open another URL and answer with its outcome.
/// - `forward-background=URL`: open another URL in the background and answer with its outcome.
/// - `answer=KIND?QUERY`: open `x-KIND` of the URL with the query (x-callback-url), and reply with nothing.
/// - `answer-with=COMMAND`: open it with this command and not through the router's interface.
/// - `answer-later`: open it after the reply.
/// - `silent`: reply with nothing.
/// - `long-reply=COUNT`: reply with a text of so many bytes too.
/// - `forward-once=URL`: open another URL for the first URL, and reply with nothing.
/// - `sources`: say in the log from which handler each URL comes.
/// - `patient=URL`: wait on that URL until it is cancelled, and say so in the log.
/// - `deaf`: wait on each URL for a second, whether it is cancelled or not.
/// - `end-url=URL`: end when idle, and work on that URL for longer than the end may take.
/// - `report=COUNT`: report the progress so many times on each URL.
/// - `pipe=TEXT`: answer with the end of a pipe that holds the text.
/// - `return`: return to the sender of each URL before the answer.
/// - `url-tokens`: say in the log with which token each URL comes.
/// - `tokens`: say in the log with which token the handler becomes active.
/// - `stall=open`: wait without end and leave the main actor free.
/// - `task=NAME`: begin a background task on the way to the background, and end the task on `endTask`.
/// - `chain`: when the background task expires, begin another one before its end.
/// - `endTask`: end the background task at once.
/// - `state=TEXT`: the state to save.
/// - `crash-in=PATH`: crash in the phase whose name the file holds, while the file exists.
/// - `memory=MIB`: fill some memory at the start.
/// - `reasons`: say in the log why the handler is launched.
/// - `slow-notification=MILLISECONDS`: wait in each notification, and say in the log that the wait is over.
/// - `refuse-push=TEXT`: throw an error for each push.
/// - `notify=TEXT`: schedule a notification at once for each URL.
/// - `task-result=WORD`: answer each task with this result; without a result, throw an error.
/// - `hourly=NAME`: schedule a task for every hour at each launch.
/// - `fetches`: fetch new content as often as possible.
/// - `late`: wait for a task before the handler begins. The main thread is libdispatch's by then.
/// - `main-queue`: use libdispatch's main queue on each URL, and say in the log which thread is the main actor's.
@main
struct TestHandler {
    static func main() async {
        let arguments = CommandLine.arguments.dropFirst()
        guard arguments.count >= 2, let id = BusName(arguments[1]) else { exit(64) }
        var behaviour: [String: String] = [:]
        for argument in arguments.dropFirst(2) {
            let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
            behaviour[parts[0]] = parts.count > 1 ? parts[1] : ""
        }
        let delegate = TestDelegate(log: arguments[2], behaviour: behaviour)
        delegate.record("start \(getpid())")
        if let status = behaviour["exit"].flatMap(CInt.init) { exit(status) }
        if let size = behaviour["memory"].flatMap(Int.init) {
            // The memory is never released: the router measures the process.
            memset(malloc(size << 20), 1, size << 20)
        }
        // The delay simulates a program that is slow to start.
        if let delay = behaviour["startDelay"].flatMap(UInt32.init) { usleep(delay * 1000) }
        if behaviour["gate"] == "" { delegate.passGate() }
        // The task needs the thread that `main` has, so `main` must give it up.
        if behaviour["late"] != nil { await Task { @MainActor in }.value }
        await Application.main(id, delegate: delegate)
    }
}

final class TestDelegate: ApplicationDelegate {
    let log: String
    let behaviour: [String: String]
    private var task: BackgroundTaskIdentifier?
    private var hasForwarded = false

    nonisolated init(log: String, behaviour: [String: String]) {
        self.log = log
        self.behaviour = behaviour
    }

    nonisolated func record(_ line: String) {
        let descriptor = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        let bytes = Array("\(line)\n".utf8)
        _ = write(descriptor, bytes, bytes.count)
    }

    nonisolated func passGate() {
        close(open("\(log).gate", O_RDONLY | O_CLOEXEC))
    }

    private func pass(_ phase: String) {
        record(phase)
        if behaviour["gate"] == phase { passGate() }
        if takesFault(phase) { while true { pause() } }
        if let path = behaviour["crash-in"], FileManager.default.contents(atPath: path) == Data(phase.utf8) {
            raise(SIGKILL)
        }
        while behaviour["hang"] == phase { pause() }
    }

    /// Returns whether the file of faults names this fault, and removes the file then. The log tells which process is sick.
    private func takesFault(_ fault: String) -> Bool {
        guard behaviour["faults"] != nil, let file = fopen("\(log).fault", "r") else { return false }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = fread(&bytes, 1, bytes.count, file)
        guard String(decoding: bytes.prefix(count), as: UTF8.self) == fault, unlink("\(log).fault") == 0 else {
            return false
        }
        record("sick \(getpid()) \(fault)")
        return true
    }

    func application(_ application: Application, willFinishLaunchingWithOptions options: LaunchOptions) -> Bool {
        if behaviour["reasons"] != nil { record("reason \(options.reason)") }
        if let notification = options.localNotification { record("launched for \(notification.text)") }
        pass("willFinishLaunching")
        return behaviour["will"] != "no"
    }

    func application(_ application: Application, didFinishLaunchingWithOptions options: LaunchOptions) async -> Bool {
        pass("didFinishLaunching")
        await schedule(application)
        return behaviour["did"] != "no"
    }

    func application(
        _ application: Application,
        open url: GenericURL,
        sourceApplication: String?,
        annotation: Value?
    ) async throws -> OpenResponse {
        record("open \(url)")
        if behaviour["url-tokens"] != nil { record("with \(application.activationToken ?? "none")") }
        if let push = application.remoteNotification {
            record("for push \(String(decoding: push.message, as: UTF8.self))")
        }
        if let notification = application.localNotification { record("for notification \(notification.text)") }
        if let text = behaviour["notify"], application.localNotification == nil {
            try await application.scheduleLocalNotification(LocalNotification(text))
        }
        if takesFault("open") { while true { pause() } }
        if let count = behaviour["report"].flatMap(Int.init) {
            for number in 0...count { application.reportProgress(Double(number) / Double(count), "part \(number)") }
        }
        if behaviour["main-queue"] != nil { await useMainQueue() }
        if behaviour["hang"] == "open" { while true { pause() } }
        if behaviour["hang-url"] == "\(url)" { while true { pause() } }
        if behaviour["stall"] == "open" || behaviour["stall-url"] == "\(url)" {
            await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        }
        if behaviour["patient"] == "\(url)" {
            do {
                try await Task.sleep(for: .seconds(600))
            } catch {
                record("cancelled \(url)")
                throw error
            }
        }
        if behaviour["end-url"] == "\(url)" {
            application.endWhenIdle()
            try await Task.sleep(for: .seconds(6))
        }
        if behaviour["gate"] == "open" { await Task.detached { self.passGate() }.value }
        if behaviour["deaf"] != nil { await Task.detached { _ = usleep(1_000_000) }.value }
        if let host = behaviour["fatal"], url.host.map(String.init) == host { fatalError("there is no list") }
        if let host = behaviour["crash"], url.host.map(String.init) == host { raise(SIGKILL) }
        if let text = behaviour["throw"] { throw RemoteError("com.example.Error.Thrown", text) }
        if let url = behaviour["forward"] { return try await forward(GenericURL(url)) }
        if let url = behaviour["forward-background"] {
            var options = OpenOptions()
            options.inBackground = true
            return try await forward(GenericURL(url), options)
        }
        if behaviour["sources"] != nil { record("from \(sourceApplication ?? "no handler")") }
        if let next = behaviour["forward-once"], !hasForwarded {
            hasForwarded = true
            return try await forward(GenericURL(next))
        }
        if behaviour["return"] != nil { await goBack(application) }
        if let answer = behaviour["answer"] {
            if behaviour["answer-later"] != nil {
                Task { try await self.answer(url, answer) }
            } else {
                try await self.answer(url, answer)
            }
            return .handled()
        }
        if behaviour["silent"] != nil { return .handled() }
        if let reason = behaviour["decline"] { return .declined(reason: reason.isEmpty ? nil : reason) }
        var reply: [String: Value] = ["pid": .int32(getpid())]
        if behaviour["task-url"] != nil {
            let task = await application.beginBackgroundTask(named: "\(url)")
            reply["time-left"] = (await application.backgroundTimeRemaining).map { .double($0 / .seconds(1)) }
            application.endBackgroundTask(task)
        }
        if let text = behaviour["pipe"] {
            let pipe = Pipe()
            pipe.fileHandleForWriting.write(Data(text.utf8))
            try pipe.fileHandleForWriting.close()
            reply["pipe"] = .unixFD(UnixFD(owning: dup(pipe.fileHandleForReading.fileDescriptor)))
        }
        if case .unixFD(let file) = annotation?.options?["file"] {
            let text = String(decoding: FileHandle(fileDescriptor: file.rawValue).availableData, as: UTF8.self)
            record("read \(text)")
            reply["text"] = .string(text)
        }
        if let count = behaviour["long-reply"].flatMap(Int.init) {
            reply["text"] = .string(String(repeating: "x", count: count))
        }
        if application.wantsReply { reply["wants-reply"] = true }
        reply["annotation"] = annotation
        reply["request-id"] = application.requestID.map(Value.string)
        reply["traceparent"] = (application.traceParent?.rawValue).map(Value.string)
        reply["source-application"] = sourceApplication.map(Value.string)
        reply["source-name"] = (application.source?.uniqueName).map(Value.string)
        reply["source-class"] = (application.source?.callerClass.rawValue).map(Value.string)
        reply["source-pid"] = application.source?.pid.map(Value.uint32)
        reply["source-via"] = (application.source?.via).map { .array($0.map(Value.string), of: "s") }
        reply["source-intermediary"] = (application.source?.isIntermediary).map(Value.boolean)
        reply["source-executable"] = application.source?.executable.map(Value.string)
        reply["activation-token"] = application.activationToken.map(Value.string)
        reply["desktop-startup-id"] = application.desktopStartupID.map(Value.string)
        reply["environment"] = .array(environment(), of: "s")
        return .handled(reply: reply)
    }

    /// Opens a callback of the URL, and says the outcome in the log.
    private func answer(_ url: GenericURL, _ answer: String) async throws {
        let parts = answer.split(separator: "?", maxSplits: 1).map(String.init)
        let text = try url.queryItems.first(named: "x-\(parts[0])")?.value?.decoded() ?? ""
        let callback = parts.count > 1 ? "\(text)?\(parts[1])" : text
        if let command = behaviour["answer-with"] {
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = command.split(separator: " ").map(String.init) + [callback]
            try process.run()
            return
        }
        let client = try await OpenURLClient()
        do {
            _ = try await client.open(GenericURL(callback))
            record("answered")
        } catch {
            record("not answered: \(error)")
        }
        await client.close()
    }

    /// Returns to the sender of the URL, and says the outcome in the log.
    private func goBack(_ application: Application) async {
        do {
            try await application.returnToSource(activationToken: "token of the return")
            record("returned")
        } catch {
            record("not returned: \(error.code.rawValue): \(error.message)")
        }
    }

    private func forward(_ url: GenericURL, _ options: OpenOptions = OpenOptions()) async throws -> OpenResponse {
        let client = try await OpenURLClient()
        let response: OpenResponse
        do {
            let result = try await client.open(url, options: options)
            response = .handled(reply: result.reply)
        } catch {
            if case .notOpened(let cause) = error as? OpenURLClientError {
                record("\(url) ended with \(cause.code.rawValue)")
            }
            response = .declined(reason: "\(url): \(error)")
        }
        await client.close()
        return response
    }

    private func useMainQueue() async {
        await withCheckedContinuation { done in DispatchQueue.main.async { done.resume() } }
        await withCheckedContinuation { done in
            DispatchQueue.global().async {
                DispatchQueue.main.sync { MainActor.assumeIsolated { self.record("main queue") } }
                done.resume()
            }
        }
        record(Thread.isMainThread ? "main thread" : "other thread")
    }

    private func environment() -> [Value] {
        var values: [Value] = []
        var entry = environ
        while let text = entry.pointee {
            values.append(.string(String(cString: text)))
            entry += 1
        }
        return values
    }

    func applicationDidBecomeActive(_ application: Application) {
        pass("didBecomeActive")
        if behaviour["tokens"] != nil { record("token \(application.activationToken ?? "none")") }
    }

    func application(_ application: Application, willEncodeRestorableStateWith coder: RestorableStateCoder) throws {
        guard let text = behaviour["state"] else { return }
        pass("willEncodeRestorableState")
        try coder.encode(text, forKey: "text")
    }

    func application(_ application: Application, didDecodeRestorableStateWith coder: RestorableStateCoder) throws {
        record("restored \(try coder.decode(String.self, forKey: "text") ?? "")")
        pass("didDecodeRestorableState")
    }

    func applicationWillTerminate(_ application: Application) {
        pass("willTerminate")
    }

    func applicationWillEnterForeground(_ application: Application) {
        pass("willEnterForeground")
    }

    func applicationWillResignActive(_ application: Application) {
        pass("willResignActive")
    }

    func applicationDidEnterBackground(_ application: Application) async {
        pass("didEnterBackground")
        if takesFault("task") { _ = await application.beginBackgroundTask(named: "endless") }
        guard let name = behaviour["task"] else { return }
        task = await application.beginBackgroundTask(named: name) {
            self.record("expired \(name)")
            if self.behaviour["chain"] != nil { self.chain(application) }
        }
        record("task began")
        if behaviour["endTask"] != nil { endTask(application) }
    }

    func applicationDidReceiveMemoryWarning(_ application: Application) {
        pass("didReceiveMemoryWarning")
    }

    func application(_ application: Application, didReceiveNotification kind: String, value: Value) async {
        record("notification \(kind) \(value.string ?? "")")
        if let time = behaviour["slow-notification"].flatMap(Int64.init) {
            do {
                try await Task.sleep(for: .milliseconds(time))
                record("notification is over")
            } catch {
                record("notification is cancelled")
            }
        }
        if kind == "endTask" { endTask(application) }
        if kind == "finishMode" { application.finishBackgroundMode() }
        if kind == "return" { Task { await goBack(application) } }
    }

    func application(_ application: Application, didReceiveRemoteNotification push: RemoteNotification) throws {
        record("push \(String(decoding: push.message, as: UTF8.self))")
        if let text = behaviour["refuse-push"] { throw RemoteError("com.example.Error.Full", text) }
    }

    func application(_ application: Application, didReceive notification: LocalNotification) {
        record("local \(notification.text) \(notification.isClicked ? "clicked" : "quiet")")
    }

    func application(_ application: Application, performTask name: String) throws -> TaskResult {
        pass("task \(name)")
        return try taskResult
    }

    func applicationPerformFetch(_ application: Application) throws -> TaskResult {
        pass("fetch")
        return try taskResult
    }

    private var taskResult: TaskResult {
        get throws {
            guard let word = behaviour["task-result"] else { return .newData }
            guard let result = TaskResult(rawValue: word) else { throw RemoteError("com.example.Error.Task", word) }
            return result
        }
    }

    private func schedule(_ application: Application) async {
        do {
            if let name = behaviour["hourly"] { try await application.scheduleTask(named: name, every: .seconds(3600)) }
            if behaviour["fetches"] != nil { try await application.setMinimumBackgroundFetchInterval(.zero) }
        } catch {
            record("not scheduled: \(error.message)")
        }
    }

    private func chain(_ application: Application) {
        Task {
            let next = await application.beginBackgroundTask(named: "next") { self.chain(application) }
            endTask(application)
            task = next
        }
    }

    private func endTask(_ application: Application) {
        if let task { application.endBackgroundTask(task) }
        task = nil
    }
}
