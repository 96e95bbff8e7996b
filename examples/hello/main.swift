import URLHandler

/// Answers `hello:?name=World` with a greeting.
final class HelloDelegate: ApplicationDelegate {
    private var count: UInt32 = 0

    /// Greets the name in the URL.
    ///
    /// The reply goes back to the program that opened the URL. If this throws an error, it declines the URL, as
    /// `.declined` does.
    func application(
        _ application: Application,
        open url: GenericURL,
        sourceApplication: String?,
        annotation: Value?
    ) throws -> OpenResponse {
        guard let name = try url.queryItems.first(named: "name")?.value?.decoded(), !name.isEmpty else {
            return .declined(reason: "there is no name; write hello:?name=World")
        }
        count += 1
        return .handled(reply: ["greeting": .string("Hello, \(name)!"), "count": .uint32(count)])
    }

    /// Says goodbye in the journal, or in the router's log, before the process exits.
    func applicationWillTerminate(_ application: Application) {
        print("Goodbye after \(count) greetings.")
    }
}

// The router starts this program for the first URL. Its manifest, com.example.hello.plist, has the same identifier.
await Application.main("com.example.hello", delegate: HelloDelegate())
