internal import OpenURLBus
internal import Reactor

/// The delegate's work on a URL.
///
/// The delegate's method runs in a separate task. Cancelling a URL cancels only this task, because the other methods in
/// the sequence move the handler through its life cycle, no matter what happens to the URL.
@MainActor final class DelegateWork {
    private let arrived: ArrivedURL
    private var ended: Result<OpenResponse, any Error>?
    /// The task; nil if the method waits for nothing.
    private var task: Task<Void, Never>?

    /// Begins the work. If the method does not wait, it has ended when the initializer returns.
    init(_ arrived: ArrivedURL, _ body: @escaping @MainActor () async throws -> OpenResponse) {
        self.arrived = arrived
        let task = ArrivedURL.$current.withValue(arrived) {
            Task.immediate { @MainActor in ended = await Result(catching: body) }
        }
        guard ended == nil else { return }
        self.task = task
        arrived.begin(task)
    }

    /// The result if the method has not waited and has reported nothing; nil otherwise.
    var resultWithoutReports: Result<OpenResponse, any Error>? { arrived.hasReported ? nil : ended }

    /// Returns the method's result, once the router has all reports.
    func result() async -> Result<OpenResponse, any Error> {
        if let task {
            await withTaskCancellationHandler {
                // Without another executor, `Task.value` leaves the main actor for the Swift runtime's thread pool.
                await withTaskExecutorPreference(arrived.loop) { await task.value }
            } onCancel: {
                task.cancel()
            }
        }
        await arrived.end()
        return ended ?? .failure(CancellationError())
    }
}

extension Result where Failure == any Error {
    /// Runs an asynchronous function, and keeps what it returns or throws.
    init(catching body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}

extension Result<OpenResponse, any Error> {
    /// Whether the delegate has handled the URL.
    var isHandled: Bool { if case .success(.handled) = self { true } else { false } }
}
