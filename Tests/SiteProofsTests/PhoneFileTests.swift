import Testing
import WebLinks

@testable import SiteProofs

/// The readers of the files of sites.
struct PhoneFileTests {
    private static func apple(_ components: String) -> [UInt8] {
        Array(#"{"applinks":{"details":[{"appIDs":["T.app"],"components":[\#(components)]}]}}"#.utf8)
    }

    @Test(arguments: [
        (#"{"/":"/a/*"}"#, ["+ /a/*"]), (#"{"/":"/a","exclude":true},{"/":"*"}"#, ["- /a", "+ *"]), (#"{}"#, ["+ *"]),
        // A condition makes a path narrower than can be said here, and an exclusion wider.
        (#"{"/":"/a","?":{"q":"1"}},{"/":"/b"}"#, ["+ /b"]), (##"{"/":"/a","#":"x"},{"/":"/b"}"##, ["+ /b"]),
        (#"{"/":"/a","?":{"q":"1"},"exclude":true},{"/":"/*"}"#, ["- /a", "+ /*"]), (#"{"/":"/a","?":"*"}"#, ["+ /a"]),
        (#"{"/":"/a","percentEncoded":false},{"/":"/b"}"#, ["+ /b"]), (#"{"/":"/a","caseSensitive":false}"#, ["+ /a"]),
        (#"{"/":"/$(lang)/x"},{"/":"/b"}"#, ["+ /b"]), (#"{"/":"/a","unknown":1},{"/":"/b"}"#, ["+ /b"]),
        (#"{"/":"a"},{"/":"/b"}"#, ["+ /b"]), (#"{"/":1},{"/":"/b"}"#, ["+ /b"]),
    ])
    func componentsBecomeRules(_ components: String, _ lines: [String]) throws {
        let rules = try PhoneFiles.appleRules(Self.apple(components), for: "T.app")
        #expect(PathRules(rules)?.lines == lines)
    }

    @Test(arguments: [
        #"{"/":"/$(x)","exclude":true}"#, #"{"/":"a","exclude":true}"#, #"{"/":1,"exclude":true}"#,
        #"{"/":"/a","exclude":true,"unknown":1}"#, #"{"/":"/a","exclude":true,"percentEncoded":false}"#, "1",
        #"{"/":"/a","exclude":"true"}"#, #"{"/":"/a","exclude":1}"#,
    ])
    func exclusionThatIsNotUnderstoodTakesAll(_ component: String) {
        #expect(throws: SiteFile.Refusal.self) {
            try PhoneFiles.appleRules(Self.apple(component + #",{"/":"/*"}"#), for: "T.app")
        }
    }

    @Test func olderPathsBecomeRules() throws {
        let text =
            #"{"applinks":{"details":[{"appID":"T.app","paths":["NOT /a/*","/b","*"]},{"appID":"T.b","paths":["/x"]}]}}"#
        #expect(
            PathRules(try PhoneFiles.appleRules(Array(text.utf8), for: "T.app"))?.lines == ["- /a/*", "+ /b", "+ *"]
        )
    }

    @Test func defaultOfTheFileCounts() throws {
        let text =
            #"{"applinks":{"defaults":{"percentEncoded":false},"details":[{"appIDs":["T.app"],"components":[{"/":"/a"}]}]}}"#
        #expect(try PhoneFiles.appleRules(Array(text.utf8), for: "T.app").isEmpty)
    }

    @Test func packageWithoutComponentsHasEveryPath() throws {
        let text =
            #"[{"relation":["delegate_permission/common.handle_all_urls"],"target":{"namespace":"android_app","package_name":"a"}}]"#
        #expect(PathRules(try PhoneFiles.androidRules(Array(text.utf8), for: "a"))?.lines == ["+ /*"])
        #expect(throws: SiteFile.Refusal.self) { try PhoneFiles.androidRules(Array(text.utf8), for: "b") }
    }

    @Test(arguments: [
        "", "null", "[]", "{}", #"{"applinks":[]}"#, #"{"applinks":{"details":{}}}"#, "{\"a\":1,\"a\":2}", "\u{FEFF}{}",
    ])
    func textIsNoFile(_ text: String) {
        #expect(throws: SiteFile.Refusal.self) { try PhoneFiles.appleRules(Array(text.utf8), for: "T.app") }
        #expect(throws: SiteFile.Refusal.self) { try PhoneFiles.androidRules(Array(text.utf8), for: "a") }
        #expect(throws: SiteFile.Refusal.self) { try SiteFile(Array(text.utf8), about: ["a"]) }
    }
}
