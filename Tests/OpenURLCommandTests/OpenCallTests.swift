import DBus
import OpenURLBus
import Testing

@testable import URLOpener

/// The command's own description of a method, which has to be equal to the contract's.
@Suite struct OpenCallTests {
    private static var fullOptions: OpenOptions {
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

    @Test func isTheMethodOfTheContract() {
        let contract = RouterInterface.openURL
        #expect(OpenCall.method.interface == contract.interface)
        #expect(OpenCall.method.name == contract.name)
        #expect(OpenCall.noted.interface == contract.interface)
        #expect(OpenCall.noted.name == contract.name)
        #expect(OpenCall.call.interface == RouterInterface.call.interface)
        #expect(OpenCall.call.name == RouterInterface.call.name)
        #expect(OpenCall.signature == Arguments<String, OpenOptions>.signature)
        #expect(ResultNote.signature == OpenResult.signature)
    }

    @Test func unreadResultOnlyTellsOfAnEarlierProgram() throws {
        var result = OpenResult(handler: "com.acme.todolist", way: .active, reply: ["a": "b"], trace: [])
        var unread: ResultNote = try MessageArchive.body(from: MessageArchive.bytes(of: result, limit: 1 << 20))
        #expect(unread.earlierProgram == nil)
        result.runsEarlierProgram = true
        unread = try MessageArchive.body(from: MessageArchive.bytes(of: result, limit: 1 << 20))
        #expect(unread.earlierProgram == "com.acme.todolist")
    }

    @Test(arguments: ["todolist://www.acme.com?Quarterly%20Report#200806231300", ""])
    func encodesToTheBytesOfTheContract(url: String) throws {
        for options in [OpenOptions(), Self.fullOptions] {
            let bytes = try MessageArchive.bytes(of: OpenCall(url: url, options: options), limit: 1 << 20)
            #expect(try bytes == MessageArchive.bytes(of: Arguments(url, options), limit: 1 << 20))
            let decoded: OpenCall = try MessageArchive.body(from: bytes)
            #expect(decoded.url == url)
            #expect(decoded.options == options)
        }
    }
}
