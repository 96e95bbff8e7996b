import URLHandler

/// Handles each URL, like the handler in `open-floor`.
///
/// The first argument is the bundle identifier. If there is a second one, `count`, the reply to each URL is the number
/// of URLs before it.
final class BenchHandler: ApplicationDelegate {
    private let counts: Bool
    private var count: UInt32 = 0

    nonisolated init(counts: Bool) {
        self.counts = counts
    }

    func application(
        _ application: Application,
        open url: GenericURL,
        sourceApplication: String?,
        annotation: Value?
    ) -> OpenResponse {
        guard counts else { return .handled() }
        defer { count += 1 }
        return .handled(reply: ["place": .uint32(count)])
    }
}

let arguments = CommandLine.arguments
guard arguments.count > 1, let id = BusName(arguments[1]) else { fatalError("bench-handler IDENTIFIER [count]") }
await Application.main(id, delegate: BenchHandler(counts: arguments.dropFirst(2).contains("count")))
