import TestSupport
import Testing

@testable import Doctor

@Suite struct FlatpakApplicationTests {
    private func findings(installing directory: String?, variables: [String: String] = [:]) throws -> [Finding] {
        let session = try ExaminedSession()
        for (name, path) in variables { session.variables[name] = session.path(path) }
        if let directory { try session.root.makeDirectory("\(directory)/app/org.example.App") }
        let flatpak = try session.writeProgram("bin/flatpak")
        try session.writeEntry("app", opening: ["app"], command: "\(flatpak) run --branch=stable org.example.App %u")
        return try session.findings().filter { $0.check == "entry-program" }
    }

    @Test(
        arguments: [
            ("home/.local/share/flatpak", [:]), ("user", ["FLATPAK_USER_DIR": "user"]),
            ("system", ["FLATPAK_SYSTEM_DIR": "system"]),
        ] as [(String, [String: String])]
    )
    func installedApplicationIsFound(_ directory: String, _ variables: [String: String]) throws {
        #expect(try findings(installing: directory, variables: variables) == [])
    }

    @Test func missingApplicationIsReported() throws {
        let reason = "starts the Flatpak application org.example.App, which is not installed"
        #expect(try findings(installing: nil).map(\.message) == [reason])
    }
}
