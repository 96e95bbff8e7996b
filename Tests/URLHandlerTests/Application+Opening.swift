import DBus
import OpenURLBus
import RFC1808

@testable import URLHandler

extension Application {
    /// Opens a URL, and returns the handler's answer.
    ///
    /// - Throws: the reason for a refusal.
    func open(_ url: GenericURL, _ context: OpenContext) async throws(OpenURLError) -> OpenAnswer {
        let (outcome, trace) = await handle(url, context)
        return OpenAnswer(isHandled: true, reply: try outcome.get(), trace: trace)
    }
}
