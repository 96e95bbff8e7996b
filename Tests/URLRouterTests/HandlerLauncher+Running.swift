import OpenURLBus
import Reactor
import SchemeRegistry

@testable import URLRouter

extension HandlerLauncher {
    /// Starts a handler and returns how it ended.
    func run(_ handler: Handler) async throws(OpenURLError) -> ProcessExit {
        let result: Result<ProcessExit, OpenURLError> = await withCheckedContinuation { continuation in
            loop.execute {
                do throws(OpenURLError) {
                    _ = try launch(handler) { continuation.resume(returning: .success($0)) }
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }
}
