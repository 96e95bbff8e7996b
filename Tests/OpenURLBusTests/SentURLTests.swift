import DBus
import OpenURLBus
import Testing

/// The arguments of the methods that take a URL have the same bytes as the generic `Arguments`.
@Suite struct SentURLTests {
    private static var options: OpenOptions {
        var options = OpenOptions()
        options.annotation = .dictionary(["k": "v"], key: "s", value: "s")
        options.handler = "com.acme.todolist"
        options.timeout = .milliseconds(1500)
        options.inBackground = true
        options.isQueued = true
        options.activationToken = "token"
        options.desktopStartupID = "startup"
        options.desktopEntry = "com.acme.todolist.desktop"
        options.fallback = ["a:b", "c:d"]
        return options
    }

    private static var context: OpenContext {
        var context = OpenContext()
        context.sourceApplication = "com.acme.todolist"
        context.source.pid = 1
        context.hops = 2
        context.requestID = "1-x"
        return context
    }

    @Test(arguments: ["todolist://www.acme.com?Quarterly%20Report#200806231300", ""])
    func sentURLIsAURLAndItsOptions(url: String) throws {
        #expect(SentURL.signature == Arguments<String, OpenOptions>.signature)
        for options in [OpenOptions(), Self.options] {
            let bytes = try MessageArchive.bytes(of: SentURL(url, options), limit: 1 << 20)
            #expect(try bytes == MessageArchive.bytes(of: Arguments(url, options), limit: 1 << 20))
            #expect(try MessageArchive.body(from: bytes) == SentURL(url, options))
        }
    }

    @Test(arguments: ["todolist://www.acme.com?Quarterly%20Report#200806231300", ""])
    func deliveredURLIsAURLAndItsContext(url: String) throws {
        #expect(DeliveredURL.signature == Arguments<String, OpenContext>.signature)
        for context in [OpenContext(), Self.context] {
            let bytes = try MessageArchive.bytes(of: DeliveredURL(url, context), limit: 1 << 20)
            #expect(try bytes == MessageArchive.bytes(of: Arguments(url, context), limit: 1 << 20))
            #expect(try MessageArchive.body(from: bytes) == DeliveredURL(url, context))
        }
    }
}
