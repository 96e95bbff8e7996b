import Testing

@testable import Doctor

/// The problems in files of rules.
@Suite struct PolicyProblemTests {
    @Test(
        arguments: [
            ("/p: line 3: has no decision", "/p"),
            ("/a:b: line 12: has no decision", "/a:b"),
            ("/a: line b: line 3: has no decision", "/a: line b"),
            ("/p: line 3: names the scheme line 4: write it again", "/p"),
            ("/p: is larger than 65536 bytes", "/p"),
            ("/p: line x: has no decision", "/p"),
            ("/p:3: is wrong", "/p"),
            ("", nil),
        ] as [(String, String?)]
    )
    func textNamesTheFile(_ problem: String, _ file: String?) {
        #expect(PolicyCheck.file(in: problem) == file)
    }
}
