import FoundationEssentials
import Testing

@testable import Doctor

/// The tables of the checks.
@Suite struct CheckTableTests {
    private let order = Examination.checks.map { "\($0)" }

    /// Returns the names of the checks that are declared in a folder of the doctor's sources.
    private func declared(in folder: String = "") throws -> [String] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let directory = root.appending(path: "Sources/Doctor/\(folder)")
        var names: [String] = []
        for path in try FileManager.default.subpathsOfDirectory(atPath: directory.path) where path.hasSuffix(".swift") {
            let text = try String(contentsOf: directory.appending(path: path), encoding: .utf8)
            let declaration = /(?:struct|class|extension) (\w+):[^{]*\b(?:Scheme)?Check\b[^{]*\{/
            names += text.matches(of: declaration).map { String($0.1) }
        }
        return names
    }

    /// A check that no table lists would never run.
    @Test func everyCheckIsInATable() throws {
        // The probe runs only if the user asks for it.
        let listed = order + OpenersCheck.schemeChecks.map { "\($0)" } + ["\(ProbeCheck.self)"]
        #expect(try declared().sorted() == listed.sorted())
    }

    /// Some checks use the findings of those before them: the last check of a subject says if nothing is wrong, that of
    /// the identifier says if nothing else is, and the openers name a cause that is already found.
    @Test func checkComesAfterThoseThatItReliesOn() throws {
        let handlers = try declared(in: "Handlers")
        let entries = try declared(in: "Entries")
        #expect(order.filter { handlers.contains($0) }.suffix(2) == ["IdentifierCheck", "HandlerSoundness"])
        #expect(order.last { entries.contains($0) } == "EntrySoundness")
        let later = order.drop { $0 != "OpenersCheck" }
        #expect(!later.isEmpty && !later.contains { handlers.contains($0) || entries.contains($0) })
    }
}
