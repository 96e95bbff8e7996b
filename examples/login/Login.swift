import Glibc
import OpenURL
import OpenURLBus
import RFC1808

/// Opens a sign-in page, and prints the address to which the server sends the browser back.
///
/// CALLBACK decides how the browser comes back: `http://127.0.0.1/PATH` leads to a server of this program, and any other
/// address to the program through its scheme.
@main struct Login {
    static func main() async {
        guard CommandLine.arguments.count == 3 else { fail("usage: login CALLBACK URL", 64) }
        do {
            let client = try await OpenURLClient()
            let address = try GenericURL(CommandLine.arguments[1])
            let url = try GenericURL(CommandLine.arguments[2])
            let expectation: CallbackExpectation =
                address.lowercasedScheme == "http" ? .loopback(path: String(address.path)) : .prefix("\(address)")
            let callback = try await client.openForCallback(url, expecting: expectation)
            if let error = callback.query["error"] { fail("the server refuses: \(error)", 1) }
            print(callback.url)
            await client.close()
        } catch {
            fail("\(error)", 1)
        }
    }

    private static func fail(_ message: String, _ status: Int32) -> Never {
        let line = "login: \(message)\n"
        _ = write(STDERR_FILENO, line, line.utf8.count)
        exit(status)
    }
}
