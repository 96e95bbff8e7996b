import Testing

@testable import Doctor

/// The arguments with which the command starts the doctor.
@Suite struct ArgumentTests {
    @Test(arguments: [
        ["--unknown"], ["-x"], ["note"], ["--command"], ["--json", "note"], ["--probe=yes"], [""],
        ["--fix", "--command"],
    ])
    func wrongArgumentsAreRefused(_ arguments: [String]) {
        #expect(Doctor(arguments) == nil)
    }

    /// Arguments that mean the same, and arguments that mean something else.
    @Test(
        arguments: [
            (["--probe", "--fix"], ["--fix", "--probe"], true),
            (["--probe", "--probe"], ["--probe"], true),
            (["--"], [], true),
            (["--json", "--", "note"], ["--json", "--", "note"], true),
            (["--command", "1"], ["--command", "1"], true),
            (["--command", "0", "--command", "1"], ["--command", "1"], true),
            (["--", "a", "--", "b"], ["--", "b"], true),
            (["--probe"], ["--fix"], false),
            (["--json"], [], false),
            (["--command", "1"], ["--command", "2"], false),
            (["--", "--probe"], ["--probe"], false),
            (["--", "note"], ["--", "other"], false),
            (["--command", "--json"], ["--json"], false),
        ] as [([String], [String], Bool)]
    )
    func orderDoesNotMatter(_ first: [String], _ second: [String], _ areEqual: Bool) throws {
        let doctors = (try #require(Doctor(first)), try #require(Doctor(second)))
        #expect((doctors.0 == doctors.1) == areEqual)
    }
}
