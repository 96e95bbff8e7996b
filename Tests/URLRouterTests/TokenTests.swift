import DBus
import Foundation
import Glibc
import OpenURLBus
import SchemeRegistry
import TestSupport
import Testing

@testable import URLRouter

/// The focus tokens that the router hands over.
@Suite(.timeLimit(.minutes(10))) struct TokenTests {
    private let tokens = FocusTokens()

    /// Returns the tokens that a request hands over: the activation token, and the ID of the startup notification.
    private func handedOver(_ token: String?, _ startupID: String? = nil) -> [String?] {
        var options = OpenOptions()
        (options.activationToken, options.desktopStartupID) = (token, startupID)
        tokens.spend(&options)
        return [options.activationToken, options.desktopStartupID]
    }

    @Test func tokensBecomeVariables() {
        var options = OpenOptions()
        #expect(options.tokenVariables == [:])
        options.activationToken = "token"
        #expect(options.tokenVariables == ["XDG_ACTIVATION_TOKEN": "token"])
        options.desktopStartupID = "startup"
        #expect(options.tokenVariables == ["XDG_ACTIVATION_TOKEN": "token", "DESKTOP_STARTUP_ID": "startup"])
    }

    @Test func oneTokenServesAsBoth() {
        #expect(handedOver("token") == ["token", "token"])
        #expect(handedOver(nil, "startup") == ["startup", "startup"])
        #expect(handedOver("a", "b") == ["a", "b"])
        #expect(handedOver(nil) == [nil, nil])
    }

    @Test func tokenIsHandedOverOnce() {
        #expect(handedOver("token", "startup") == ["token", "startup"])
        #expect(handedOver("token", "startup") == [nil, nil])
        #expect(handedOver("startup", "token") == [nil, nil])
    }

    /// GLib before 2.76 sets only the second variable, and the first one may come from the start of the program itself.
    @Test func inheritedTokenMakesWayForTheNewOne() {
        _ = handedOver("inherited")
        #expect(handedOver("inherited", "new") == ["new", "new"])
    }

    @Test(arguments: ["", String(repeating: "x", count: 1025), "to\nken", "to\u{7F}ken", "to\u{0}ken"])
    func unusableTokenIsLeftOut(token: String) {
        #expect(handedOver(token) == [nil, nil])
        #expect(handedOver(token, "startup") == ["startup", "startup"])
        let data = FreedesktopApplication.options(["activation-token": .string(token)])
        #expect(data.activationToken == nil)
    }

    @Test func longestTokenIsHandedOver() {
        let token = String(repeating: "ü", count: 512)
        #expect(handedOver(token) == [token, token])
    }

    @Test func memoryHasABound() {
        _ = handedOver("first")
        for number in 1..<FocusTokens.capacity { _ = handedOver("\(number)") }
        #expect(handedOver("first") == [nil, nil])
        _ = handedOver("last")
        #expect(handedOver("first") == ["first", "first"])
    }

    /// The router does not know yet whether the sender may open its URL, so its token is not for the process that another URL
    /// starts.
    @Test func processDoesNotGetTheTokenOfAnUndecidedURL() async throws {
        let directory = TemporaryState()
        try FileManager.default.createDirectory(atPath: directory.path, withIntermediateDirectories: true)
        let (program, told) = ("\(directory.path)/program", "\(directory.path)/told")
        try writeProgram("#!/bin/sh\necho ${XDG_ACTIVATION_TOKEN-none} >>\(told)\n", to: program)
        let bus = try FakeHandlers([:], processes: [":1.60": UInt32(getppid())])
        let router = URLRouter([try .test("com.example.app", program: .path(program))], on: bus)
        bus.hold(":1.60")
        let undecided = Task {
            var options = OpenOptions()
            options.activationToken = "token"
            return await failure { () throws(OpenURLError) in try await router.open("app:1", options, caller: ":1.60") }
        }
        await router.wait { $0.waiting(for: "com.example.app") == 1 }
        let end = await failure { () throws(OpenURLError) in try await router.open("app:2") }
        #expect(String(describing: end).contains("exited with status 0"))
        #expect(try String(contentsOfFile: told, encoding: .utf8).hasPrefix("none\n"))
        bus.release(":1.60")
        _ = await undecided.value
    }
}
