public import DBus
internal import Glibc
public import OpenURLBus
internal import RFC1808
internal import Reactor
internal import Synchronization

/// The running handler: its state, and the sequences in which its delegate is called.
///
/// ```swift
/// @main struct Echo {
///     static func main() async {
///         await Application.main("com.example.echo", delegate: EchoDelegate())
///     }
/// }
/// ```
@MainActor
public final class Application {
    /// The bundle identifier, which is the name on the bus too.
    public nonisolated let identifier: BusName
    /// The state (Table 3-1 of the app programming guide): not running until the launch begins, inactive while it goes on.
    public private(set) var state = HandlerState.notRunning {
        didSet { progress.update(state: state) }
    }
    /// Who sent the URL that is being opened, as far as the bus and the kernel know; nil between URLs.
    public private(set) var source: OpenContext.Source?

    private let delegate: any ApplicationDelegate
    private let progress: Progress
    private var terminate: () -> Void = {}

    init(_ identifier: BusName, delegate: any ApplicationDelegate, progress: Progress) {
        self.identifier = identifier
        self.delegate = delegate
        self.progress = progress
    }

    // MARK: Sequences

    /// Launches without a URL; does nothing when that has happened already.
    func launch() async {
        guard state == .notRunning else { return }
        var trace = Trace(start: TracePhase.now)
        _ = await finishLaunching(LaunchOptions(), &trace)
        await becomeActive(&trace)
    }

    /// Opens a URL, launching first where that has not happened ("Handling URL Requests", figures 6-1 and 6-2).
    ///
    /// - Throws: ``OpenURLError`` with the code `launchVetoed` or `declined`.
    func open(_ url: GenericURL, _ context: OpenContext) async throws(OpenURLError) -> OpenAnswer {
        var trace = Trace(start: context.accepted ?? TracePhase.now)
        source = context.source
        defer { source = nil }
        guard state == .notRunning else {
            let response = await response(to: url, context, &trace)
            return try answer(response, trace)
        }
        var options = LaunchOptions()
        options.url = url
        options.sourceApplication = context.sourceApplication
        options.annotation = context.annotation
        let veto = await finishLaunching(options, &trace)
        // Both launch methods have to agree before the URL is opened; a refusal ends neither the launch nor the process.
        let response = veto == nil ? await response(to: url, context, &trace) : nil
        await becomeActive(&trace)
        if let veto { throw OpenURLError(.launchVetoed, "\(veto) of \(identifier) refused the URL") }
        return try answer(response ?? .declined(), trace)
    }

    /// - Returns: the launch method that refused, the first of them.
    private func finishLaunching(_ options: LaunchOptions, _ trace: inout Trace) async -> String? {
        state = .inactive
        let willAgrees = await run("willFinishLaunching", &trace) {
            await delegate.application(self, willFinishLaunchingWithOptions: options)
        }
        let didAgrees = await run("didFinishLaunching", &trace) {
            await delegate.application(self, didFinishLaunchingWithOptions: options)
        }
        return willAgrees ? (didAgrees ? nil : "didFinishLaunching") : "willFinishLaunching"
    }

    private func becomeActive(_ trace: inout Trace) async {
        state = .active
        _ = await run("didBecomeActive", &trace) {
            await delegate.applicationDidBecomeActive(self)
            return true
        }
    }

    private func response(to url: GenericURL, _ context: OpenContext, _ trace: inout Trace) async -> OpenResponse {
        var response = OpenResponse.declined()
        _ = await run("open", &trace) {
            do {
                response = try await delegate.application(
                    self,
                    open: url,
                    sourceApplication: context.sourceApplication,
                    annotation: context.annotation
                )
            } catch {
                response = .declined(reason: String(describing: error))
            }
            if case .handled = response { return true } else { return false }
        }
        return response
    }

    private func answer(_ response: OpenResponse, _ trace: Trace) throws(OpenURLError) -> OpenAnswer {
        switch response {
        case .handled(let reply): return OpenAnswer(isHandled: true, reply: reply, trace: trace.phases)
        case .declined(let reason): throw OpenURLError(.declined, reason ?? "\(identifier) declined the URL")
        }
    }

    /// Runs one delegate method, so that a watchdog can tell which one does not return.
    private func run(_ phase: String, _ trace: inout Trace, _ body: () async -> Bool) async -> Bool {
        progress.update(phase: phase)
        let answer = await body()
        progress.update(phase: "")
        trace.add(phase, answer)
        return answer
    }

    // MARK: Ending

    /// Ends the handler when the events that have arrived are handled: `applicationWillTerminate`, then exit status 0.
    public func endWhenIdle() {
        terminate()
    }

    func onTerminate(_ body: @escaping () -> Void) {
        terminate = body
    }

    func willTerminate() async {
        guard state != .notRunning else { return }
        progress.update(phase: "willTerminate")
        await delegate.applicationWillTerminate(self)
        state = .notRunning
    }
}

/// What the handler is doing, for those who ask on the event loop while the main actor is busy.
final class Progress: Sendable {
    private let content = Mutex((state: HandlerState.notRunning, phase: ""))

    var state: HandlerState { content.withLock { $0.state } }
    var phase: String { content.withLock { $0.phase } }

    func update(state: HandlerState) {
        content.withLock { $0.state = state }
    }

    func update(phase: String) {
        content.withLock { $0.phase = phase }
    }
}

/// The steps of one sequence so far.
struct Trace {
    let start: UInt64
    private(set) var phases: [TracePhase] = []

    init(start: UInt64) {
        self.start = start
    }

    mutating func add(_ phase: String, _ answer: Bool) {
        phases.append(TracePhase(phase, since: start, answer: answer))
    }
}
