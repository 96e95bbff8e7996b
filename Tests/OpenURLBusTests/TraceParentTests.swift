import OpenURLBus
import Testing

@testable import DBus

/// The rules of W3C Trace Context, section 3.2.
@Suite struct TraceParentTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let parent = "b7ad6b7169203331"

    @Test(arguments: [
        "00-\(trace)-\(parent)-01", "00-\(trace)-\(parent)-ff", "01-\(trace)-\(parent)-00",
        "cc-\(trace)-\(parent)-01-what-comes.later",
    ])
    func validValueIsKept(value: String) throws {
        #expect(TraceParent(rawValue: value)?.rawValue == value)
        var options = OpenOptions()
        options.traceParent = TraceParent(rawValue: value)
        #expect(try recoded(options, as: [String: Value].self) == ["traceparent": .string(value)])
        #expect(try recoded(options) == options)
        var context = OpenContext()
        context.traceParent = options.traceParent
        #expect(try recoded(context) == context)
    }

    @Test(arguments: [
        "", "00", "00-\(trace)-\(parent)", "00-\(trace)-\(parent)-1", "00-\(trace)-\(parent)-01-more",
        "00-\(trace)-\(parent)-01-", "ff-\(trace)-\(parent)-01", "00-\(trace.uppercased())-\(parent)-01",
        "00-00000000000000000000000000000000-\(parent)-01", "00-\(trace)-0000000000000000-01",
        "0-\(trace)-\(parent)-01",
        "00_\(trace)_\(parent)_01", "01-\(trace)-\(parent)-01-a b", "0g-\(trace)-\(parent)-01",
        "00-\(trace)-\(parent)-01\n",
        "01-\(trace)-\(parent)-01-" + String(repeating: "x", count: 256),
    ])
    func wrongValueIsAnError(value: String) throws {
        #expect(TraceParent(rawValue: value) == nil)
        let problem = "'traceparent' breaks the rules of W3C Trace Context"
        #expect(try self.problem(["traceparent": .string(value)], as: OpenOptions.self) == problem)
    }

    private func problem<Content: DBusType>(_ options: [String: Value], as type: Content.Type) throws -> String? {
        do {
            _ = try recoded(options, as: type)
            return nil
        } catch MessageDecodingError.invalidValue(let problem) {
            return problem
        }
    }
}
