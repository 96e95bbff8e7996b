import TestSupport
import Testing

/// `openurl intents` as a program; DoctorTests has the rest.
@Suite(.timeLimit(.minutes(10))) struct IntentsTests {
    private static let intent = "org.example.Paint"

    private func run(_ arguments: String..., in directory: TemporaryDirectory) async throws -> CommandRun {
        var variables = noBus
        variables["LANG"] = "C.UTF-8"
        variables["XDG_CONFIG_HOME"] = "\(directory.path)/config"
        variables["XDG_CONFIG_DIRS"] = "\(directory.path)/etc"
        variables["XDG_DATA_HOME"] = "\(directory.path)/home"
        variables["XDG_DATA_DIRS"] = "\(directory.path)/data"
        return try await openurl(["intents"] + arguments, environment: variables)
    }

    @Test func choosesWithoutABusOrARouter() async throws {
        let directory = try TemporaryDirectory()
        for name in ["a", "b"] {
            try directory.write(
                "[Desktop Entry]\nType=Application\nName=\(name)\nExec=true\nImplements=\(Self.intent);\n",
                to: "home/applications/\(name).desktop"
            )
        }
        let first = try await run(in: directory)
        #expect(first.status == 0 && first.lines.first == Self.intent)
        #expect(first.lines.dropFirst().first?.hasPrefix("  a.desktop: default; ") == true)
        let chosen = try await run(Self.intent, "b.desktop", in: directory)
        #expect(chosen.status == 0)
        #expect(chosen.lines.dropFirst().first?.hasPrefix("  b.desktop: default; ") == true)
        let json = try await run("--json", Self.intent, in: directory)
        #expect(json.output.contains(#""default":"b.desktop""#))
        let reset = try await run("--reset", Self.intent, in: directory)
        #expect(reset.lines.dropFirst().first?.hasPrefix("  a.desktop: default; ") == true)
    }

    @Test func statusSaysWhatWentWrong() async throws {
        let directory = try TemporaryDirectory()
        #expect(try await run(Self.intent, in: directory).status == 3)
        let refused = try await run(Self.intent, "gone.desktop", in: directory)
        #expect(refused.status == 1 && refused.output.isEmpty)
        #expect(refused.errors.hasSuffix("no installed application 'gone.desktop' implements \(Self.intent)\n"))
        #expect(try await run("Paint", in: directory).status == 1)
        for wrong in [["--reset"], ["--scope", "x"], ["--reset", Self.intent, "a.desktop"], [Self.intent, "a", "b"]] {
            #expect(try await openurl(["intents"] + wrong, environment: noBus).status == 64, "\(wrong)")
        }
    }
}
