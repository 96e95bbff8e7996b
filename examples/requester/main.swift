import DBus
import Glibc
import OpenURL
import OpenURLBus
import RFC1808

// Opens a URL and prints the outcome. By default, it is the URL of the iOS app programming guide.

let arguments = CommandLine.arguments.dropFirst()
let text = arguments.first ?? "todolist://www.acme.com?Quarterly%20Report#200806231300"
if arguments.count > 1 { fail("usage: requester [URL]", EX_USAGE) }

do {
    let url = try GenericURL(text)
    let result = try await OpenURLClient().open(url)
    print("\(result.handler) took it (\(result.way.rawValue))")
    for (key, value) in result.reply.sorted(by: { $0.key < $1.key }) {
        print("  \(key): \(value.string ?? "\(value)")")
    }
} catch let error as GenericURL.ParseError {
    fail("requester: \(error)", EX_DATAERR)
} catch OpenURLClientError.notOpened(let error) {
    fail("requester: \(error)", EXIT_FAILURE)
} catch {
    fail("requester: \(error)", EX_UNAVAILABLE)
}

func fail(_ message: String, _ status: Int32) -> Never {
    let line = Array("\(message)\n".utf8)
    _ = write(STDERR_FILENO, line, line.count)
    exit(status)
}
