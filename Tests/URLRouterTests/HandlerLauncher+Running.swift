import OpenURLBus
import Reactor
import SchemeRegistry

@testable import URLRouter

extension HandlerLauncher {
    /// A launcher for a session with these variables.
    init(
        environment: [String: String],
        loop: EventLoop,
        output: HandlerOutput,
        services: ProcessServices?,
        records: ProcessRecords? = nil
    ) {
        let session = SessionEnvironment(environment, on: loop, log: output.log)
        self.init(
            session: session,
            loop: loop,
            output: output,
            services: services,
            records: records,
            lookTime: RouterLimits.patient.programLookTime
        )
    }

    /// Starts a handler and returns how it ended.
    func run(_ handler: Handler) async throws(OpenURLError) -> ProcessExit {
        let result: Result<ProcessExit, OpenURLError> = await withCheckedContinuation { continuation in
            Task(executorPreference: loop) {
                do throws(OpenURLError) {
                    _ = try await launch(handler, for: nil, within: .seconds(60)) {
                        continuation.resume(returning: .success($0))
                    }
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }
}
