import Foundation
import Testing

/// `openurl new`: the files and the refusals. `NewHandlerTests` runs the handlers.
@Suite(.timeLimit(.minutes(10))) struct NewTests {
    private func inDirectory(_ body: (URL) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "openurl-new-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer {
            do {
                try FileManager.default.removeItem(at: directory)
            } catch {
                Issue.record(error)
            }
        }
        try await body(directory.resolvingSymlinksInPath())
    }

    @Test func packageInSwiftDependsOnTheClone() async throws {
        try await inDirectory { directory in
            let run = try await openurl("new", "com.example.hello", in: directory)
            #expect(run.status == 0, "\(run.errors)")
            let package = try String(contentsOf: directory.appending(path: "hello/Package.swift"), encoding: .utf8)
            let clone = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
                .resolvingSymlinksInPath()
            #expect(package.contains(#".executable(name: "hello", targets: ["Handler"])"#), "\(package)")
            #expect(package.contains(#".package(name: "openurl", path: "\#(clone.path)")"#), "\(package)")
            let plist = try Data(contentsOf: directory.appending(path: "hello/com.example.hello.plist"))
            let keys = try PropertyListSerialization.propertyList(from: plist, format: nil) as? [String: Any]
            #expect(keys?["CFBundleIdentifier"] as? String == "com.example.hello")
            #expect(keys?["CFBundleExecutable"] as? String == ".build/debug/hello")
            let end = """
                openurl --json 'hello:?name=World'

                # After a change (the test checks the reply, so change both):
                swift build
                openurl restart com.example.hello

                """
            #expect(run.output.hasSuffix("\n\(end)"))
            // The files stay as the person has changed them.
            let file = directory.appending(path: "hello/Package.swift")
            try Data("mine".utf8).write(to: file)
            let place = directory.appending(path: "hello").path
            let again = try await openurl("new", "com.example.hello", "--directory", place, in: directory)
            #expect(again.status == 1)
            #expect(again.errors == "openurl: \(file.path): File exists\n")
            #expect(try String(contentsOf: file, encoding: .utf8) == "mine")
        }
    }

    @Test(arguments: ["/nonexistent", "/dev/null", "."]) func packageIsAClone(_ place: String) async throws {
        try await inDirectory { directory in
            let run = try await openurl("new", "com.example.hello", "--package", place, in: directory)
            #expect(run.status == 66 && run.output == "", "\(run)")
            #expect(
                run.errors.hasSuffix(" is not a clone of openurl; give the path of one with --package PATH\n"),
                "\(run)"
            )
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
        }
    }

    /// In a clone, the default directory could be one with other files.
    @Test func defaultDirectoryIsNew() async throws {
        try await inDirectory { directory in
            let place = directory.appending(path: "examples")
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            let run = try await openurl("new", "--python", "com.example.examples", in: directory)
            #expect(run.status == 1)
            #expect(run.errors == "openurl: \(place.path) already exists; give a directory with --directory PATH\n")
            #expect(try FileManager.default.contentsOfDirectory(atPath: place.path).isEmpty)
        }
    }

    @Test func directoryIsShownWithoutControls() async throws {
        try await inDirectory { directory in
            let place = "\(directory.path)/a\u{1B}]0;title\u{7}\nb"
            let run = try await openurl("new", "--python", "com.example.odd", "--directory", place, in: directory)
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.output.contains(#"/a\u{1B}]0;title\u{7}\u{A}b/handler.py"#), "\(run.output)")
            #expect(run.output.unicodeScalars.allSatisfy { $0.value >= 0x20 || $0 == "\n" })
        }
    }

    /// An identifier may end in a keyword or in the name of a module, which can name a program, but no module.
    @Test(arguments: ["class", "dbus", "signal", "json", "main", "test", "clean", "app2", "my-app"])
    func onlyTheProgramIsNamedAfterTheIdentifier(_ name: String) async throws {
        try await inDirectory { directory in
            for (language, files) in [
                ("python", ["handler.py", "test_handler.py"]),
                ("c", ["handler.c", "test_handler.c"]),
                ("swift", ["Sources/Handler/main.swift", "Tests/HandlerTests/DelegateTests.swift"]),
            ] {
                let place = directory.appending(path: language)
                let id = "com.example.\(name)"
                let run = try await openurl("new", id, "--\(language)", "--directory", place.path, in: directory)
                #expect(run.status == 0, "\(run.errors)")
                for file in files + ["\(id).plist"] {
                    #expect(FileManager.default.fileExists(atPath: place.appending(path: file).path), "\(file)")
                }
                guard language == "python" else { continue }
                let line = "cd '\(place.path)' && /usr/bin/python3 -m unittest"
                let test = try await shell(line)
                #expect(test.status == 0 && test.errors.contains("Ran 2 tests"), "\(test)")
            }
        }
    }

    @Test(arguments: [
        (["hello"], "'hello' is not a bundle identifier; use one such as com.example.greeter"),
        (["com.example.9"], "'com.example.9' is not a bundle identifier; use one such as com.example.greeter"),
        (["com.example._x"], "the last element of 'com.example._x' must begin with a letter"),
        (
            ["com.example.x", "--scheme", "1x"],
            "'1x' is not a scheme (letters, digits, '+', '-', '.'); give one with --scheme"
        ),
        (["com.example.my_app"], "'my_app' is not a scheme (letters, digits, '+', '-', '.'); give one with --scheme"),
        (
            ["com.example.x", "--scheme", String(repeating: "a", count: 65)],
            "the scheme has 65 bytes; a scheme may have at most 64"
        ),
        (
            ["com.example.x", "--scheme", "OpenURL-reply"],
            "the scheme is openurl-reply, which belongs to the router"
        ),
        (["com.example.http"], "http belongs to the browser; OUAssociatedDomains claims the links to a site"),
        (
            ["org.freedesktop.x"],
            "the bundle identifier is org.freedesktop.x, but org.freedesktop.* belongs to the system; "
                + "choose a name below a domain that you own"
        ),
        (["org.openurl.Router1"], "org.openurl.* belongs to the system"),
    ])
    func wrongNamesAreUsageErrors(arguments: [String], message: String) async throws {
        try await inDirectory { directory in
            let line = "cd '\(directory.path)' && exec \"$openurl\" new \(arguments.joined(separator: " "))"
            let run = try await shell(line)
            #expect(run.status == 64)
            #expect(run.errors.contains(message), "\(run.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
        }
    }
}
