import OpenURLBus
import RFC1808
import Testing

@Suite struct XCallbackURLTests {
    @Test(arguments: [
        ("app://x-callback-url/a?x-success=b:c&t=1", "app://x-callback-url/a?t=1"),
        ("app:a?X-Source=1&%78-error=2&x%2Dcancel=3", "app:a"),
        ("app:a?t=x-1&xx-a=2&ax-=3", "app:a?t=x-1&xx-a=2&ax-=3"),
        ("app:a?x-", "app:a"), ("app:a?&&x=1&", "app:a?&&x=1&"), ("app:a#x-success=1", "app:a#x-success=1"),
        ("app:a?x-a=1&&b#c", "app:a?&b#c"), ("app:a?%FF-x=1&x-%FF=2", "app:a?%FF-x=1"),
    ]) func ownParametersAreLeftOut(_ before: String, _ after: String) throws {
        #expect(try GenericURL(before).removingXParameters().description == after)
    }

    @Test func parametersAreAppendedBeforeTheFragment() throws {
        let added = [(name: "a b", value: "é&=#%+"), (name: "n", value: "")]
        let text = "a%20b=%C3%A9%26%3D%23%25%2B&n="
        for (before, after) in [
            ("app:x", "app:x?\(text)"), ("app:x?", "app:x?\(text)"), ("app:x?y#z", "app:x?y&\(text)#z"),
            ("app://host", "app://host?\(text)"), ("app://host#z", "app://host?\(text)#z"),
        ] {
            let url = try GenericURL(before).appending(added)
            #expect(url.description == after)
            #expect(FormParameters(queryOf: url).values["a b"] == ["é&=#%+"])
        }
        #expect(try GenericURL("app:x").appending([]).description == "app:x")
    }

    @Test func longURLIsRefused() throws {
        let error = try #require(throws: OpenURLError.self) {
            try GenericURL("app:x").appending([(name: "a", value: String(repeating: " ", count: 22_000))])
        }
        #expect(error.code == .limitsExceeded)
    }

    @Test func valuesKeepTheirOrder() throws {
        let url = try GenericURL("app:x?n=2&m=%zz&n=1&n=+&e#f=1".replacing("%zz", with: "%FF"))
        #expect(FormParameters(queryOf: url).values == ["n": ["2", "1", " "], "e": [""]])
    }

    /// Such a text could not be read back from a message, and a comparison would take long.
    @Test(arguments: [(30, true), (31, false)]) func valueWithTooManyMarksIsLeftOut(marks: Int, isThere: Bool) throws {
        let text = String(repeating: "%CC%81", count: marks)
        let url = try GenericURL("app:x?errorMessage=a\(text)&a\(text)=1&n=1")
        let values = FormParameters(queryOf: url).values
        #expect(values["n"] == ["1"])
        #expect(values.count == (isThere ? 3 : 1))
    }

    @Test func answersAreToldByTheirScheme() {
        for text in ["openurl-reply:", "OpenURL-Reply://x/success"] { #expect(XCallbackURL.isReply(text)) }
        for text in ["", "openurl-reply", "openurl-replyx:", " openurl-reply:", "xopenurl-reply:", "openurl-répl:"] {
            #expect(!XCallbackURL.isReply(text))
        }
    }

    @Test(arguments: [
        ("a://x-callback-url/b", true), ("a://X-Callback-URL", true), ("a://x-callback-url.b/", false), ("a:x", false),
    ])
    func hostDecides(_ text: String, _ isXCallback: Bool) throws {
        #expect(try GenericURL(text).isXCallback == isXCallback)
    }
}
