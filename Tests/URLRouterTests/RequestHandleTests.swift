import OpenURLBus
import Testing

@testable import DBus
@testable import URLRouter

/// The table of handles: paths, owners and tokens.
@Suite struct RequestHandleTests {
    private static let caller: BusName = ":1.7"
    private static let other: BusName = ":1.70"
    private let handles = RequestHandles()
    private let token: HandleToken

    init() throws {
        token = try #require(HandleToken(rawValue: "a1"))
    }

    @Test func pathNamesTheCallerAndTheToken() throws {
        let handle = try handles.make(token, for: Self.caller)
        #expect(handle.path == "/org/openurl/Router1/request/1_7/a1")
        #expect(handle.owner == Self.caller)
        #expect(try handles.handle(at: handle.path, for: Self.caller) === handle)
    }

    @Test func tokenIsInUseUntilTheHandleIsRemoved() throws {
        let first = try handles.make(token, for: Self.caller)
        let error = #expect(throws: RemoteError.self) { try handles.make(token, for: Self.caller) }
        #expect(error?.name == .invalidArguments)
        _ = try handles.make(token, for: Self.other)
        handles.remove(first)
        _ = try handles.make(token, for: Self.caller)
        #expect(handles.count == 2)
    }

    @Test func anotherCallerLearnsNothing() throws {
        let handle = try handles.make(token, for: Self.caller)
        let refusal = OpenURLError(.notAllowed, "only the program that made a request may use its handle")
        let missing: ObjectPath = "/org/openurl/Router1/request/1_7/missing"
        for path in [handle.path, missing, "/org/openurl/Router1/request/1_7", "/org/openurl/Router1/request"] {
            for caller in [Self.other, nil] {
                #expect(throws: refusal) { try handles.handle(at: path, for: caller) }
            }
        }
        let error = #expect(throws: RemoteError.self) { try handles.handle(at: missing, for: Self.caller) }
        #expect(error?.name == .unknownObject)
    }

    @Test func callWithoutABusHasNoHandle() {
        #expect(throws: RemoteError.self) { try handles.make(token, for: nil) }
    }

    @Test func cancelWithdrawsOnce() throws {
        let handle = try handles.make(token, for: Self.caller)
        var count = 0
        handle.withdraw = { count += 1 }
        handle.cancel()
        handle.cancel()
        #expect(count == 1)
        #expect(handle.isCancelled)
    }

    @Test func cancelHoldsForEveryRequestOfTheHandle() throws {
        let handle = try handles.make(token, for: Self.caller)
        let stop = Stop(handle) {}
        let first = OpenRequest("a:x", OpenOptions(), from: .caller(Self.caller), named: "1", stop: stop, observed: nil)
        let second = OpenRequest(
            "b:x",
            OpenOptions(),
            from: .caller(Self.caller),
            named: "2",
            stop: stop,
            observed: nil
        )
        #expect(!first.isCancelled && !second.isCancelled)
        handle.cancel()
        #expect(first.isCancelled && second.isCancelled)
    }

    @Test func namesOfTheRouterDiffer() {
        var first = RequestNames()
        var second = RequestNames()
        let names = [first.next(), first.next(), second.next(), second.next()]
        #expect(Set(names).count == 4)
        // A caller cannot take a name of the router.
        for name in names { #expect(RequestID(rawValue: name) == nil) }
    }
}
