import DBus
import Foundation
import OpenURLBus
import PrivateBus
import TestSupport
import Testing

/// `make install`, and the first URL afterwards. No router has run in the user's session before.
@Suite(.timeLimit(.minutes(10))) struct InstallationTests {
    private static let project = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        .standardizedFileURL.path

    /// Runs `make` with the programs of this test, which are there already.
    ///
    /// - Parameters:
    ///   - examples: the examples to install.
    ///   - environment: the environment instead of the one of this test.
    private static func run(
        _ target: String,
        prefix: String,
        stage: String = "",
        examples: String? = nil,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) async throws -> CommandRun {
        let arguments =
            [
                "--no-print-directory", "-C", project, target, "BUILT=\(RouterProcess.products.path)",
                "PREFIX=\(prefix)", "DESTDIR=\(stage)",
            ] + (examples.map { ["EXAMPLES=\($0)"] } ?? [])
        return try await CommandRun(URL(filePath: "/usr/bin/make"), arguments, environment, in: URL(filePath: "/"))
    }

    private static func make(
        _ target: String,
        prefix: URL,
        stage: String = "",
        examples: String? = nil
    ) async throws -> String {
        let run = try await run(target, prefix: prefix.path, stage: stage, examples: examples)
        try #require(run.status == 0, "\(run.output)\(run.errors)")
        return run.output
    }

    /// Returns an empty directory, with the installed files in `usr`.
    ///
    /// - Parameter isPackage: whether the files come from a package, which was built in another place.
    private static func installation(isPackage: Bool) async throws -> URL {
        let root = FileManager.default.temporaryDirectory.appending(path: "install-\(UUID().uuidString)")
        let prefix = root.appending(path: "usr")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        let stage = isPackage ? root.appending(path: "stage").path : ""
        let output = try await make("install", prefix: prefix, stage: stage, examples: "todolist")
        // A packager's session is not the one that gets the router.
        #expect(output.contains("openurl new") == !isPackage)
        if isPackage {
            for name in ["applications/com.acme.todolist.desktop", "dbus-1/services/com.acme.todolist.service"] {
                let text = try String(contentsOfFile: "\(stage)\(prefix.path)/share/\(name)", encoding: .utf8)
                #expect(text.contains("Exec=\(prefix.path)/bin/openurl ") && !text.contains(stage), "\(text)")
            }
            let applications = try FileManager.default.contentsOfDirectory(
                atPath: "\(stage)\(prefix.path)/share/applications"
            )
            // The cache belongs to all packages.
            #expect(!applications.contains("mimeinfo.cache"), "\(applications)")
            try FileManager.default.moveItem(atPath: stage + prefix.path, toPath: prefix.path)
            // The package manager does that when it installs the package.
            let cache = URL(filePath: "/usr/bin/update-desktop-database")
            let run = try await CommandRun(cache, ["\(prefix.path)/share/applications"], [:], in: root)
            #expect(run.status == 0, "\(run.errors)")
        }
        return root
    }

    /// Starts a session that has the installed files, and no others, as the files of the system.
    private func session(with root: URL) async throws -> PrivateBus {
        try await PrivateBus { directory in
            let data = directory.appending(path: "XDG_DATA_DIRS")
            try FileManager.default.removeItem(at: data)
            try FileManager.default.createSymbolicLink(at: data, withDestinationURL: root.appending(path: "usr/share"))
        }
    }

    private func run(_ arguments: String..., on bus: PrivateBus) async throws -> CommandRun {
        let environment = bus.environment.merging(["DISPLAY": ":0"]) { $1 }
        return try await CommandRun(
            URL(filePath: "/usr/bin/env"),
            ["timeout", "--signal=KILL", "60"] + arguments,
            environment,
            in: bus.directory
        )
    }

    @Test(arguments: [false, true]) func firstURLReachesAnInstalledHandler(isPackage: Bool) async throws {
        let root = try await Self.installation(isPackage: isPackage)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: root) } }
        let bus = try await session(with: root)
        defer { bus.stop() }
        let opened = try await run("xdg-open", "todolist:?Milk", on: bus)
        #expect(opened.status == 0, "\(opened.errors)")
        let list = try await run("\(root.path)/usr/bin/todolist", "list", on: bus)
        #expect(list.output.contains("Milk"), "\(list.output)\(list.errors)")
        // The router leaves the handler to the system's files. It answers a reload after it has published.
        let connection = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
        _ = try await connection.call(RegistryInterface.reload, on: RouterService.object, Empty())
        for name in ["applications/com.acme.todolist.desktop", "dbus-1/services/com.acme.todolist.service"] {
            #expect(
                !FileManager.default.fileExists(atPath: bus.directory.appending(path: "XDG_DATA_HOME/\(name)").path)
            )
        }
    }

    @Test func gioFindsAnInstalledHandlerAndTheBusItsService() async throws {
        let root = try await Self.installation(isPackage: false)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: root) } }
        let bus = try await session(with: root)
        defer { bus.stop() }
        let connection = try await Connection.open(.address(bus.address), on: try bus.makeLoop())
        #expect(try await connection.activatableNames().contains("com.acme.todolist"))
        let (owners, continuation) = AsyncStream<BusName?>.makeStream()
        _ = try await connection.watchName("com.acme.todolist") { _, new in continuation.yield(new) }
        #expect(try await run("gio", "open", "todolist:?Milk", on: bus).status == 0)
        // The program has ended long before the handler has started.
        for await owner in owners where owner != nil { break }
    }

    /// The service files and entries could not name the programs, and the commands of the Makefile would run a part of the name.
    @Test(arguments: [
        " x", "'", "\"", "\\", "$$(touch RUN)", "`touch RUN`", ";x", "&x", "|x", ">x", "*", "%x", "\nx", "\u{1}",
    ])
    func placeWithSpecialCharactersIsRefused(end: String) async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "install-\(UUID().uuidString)").path
        for target in ["install", "uninstall"] {
            for (prefix, stage) in [(root + end, ""), (root, root + end)] {
                let run = try await Self.run(target, prefix: prefix, stage: stage)
                #expect(run.status == 2 && run.errors.hasPrefix("PREFIX and DESTDIR may have no spaces"), "\(run)")
                #expect(!FileManager.default.fileExists(atPath: root))
                #expect(!FileManager.default.fileExists(atPath: "\(Self.project)/RUN"))
            }
        }
    }

    /// The last lines of the output say what to run next.
    @Test func installationHasNoExampleAndNamesTheNextStep() async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "install-\(UUID().uuidString)")
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: root) } }
        // The place may be given as a path from the project.
        let prefix = Self.project.split(separator: "/").map { _ in "../" }.joined() + root.path
        let install = try await Self.run("install", prefix: prefix)
        try #require(install.status == 0, "\(install)")
        let (next, share) = (install.output.split(separator: "\n").suffix(3), "\(root.path)/share")
        #expect(next.first?.hasPrefix("Add \(share) to XDG_DATA_DIRS and \(root.path)/bin to PATH ") == true, "\(next)")
        let unit = "\(root.path)/lib/systemd/user/openurld.service"
        #expect(next.dropFirst().first?.hasSuffix(": systemctl --user enable --now \(unit)") == true, "\(next)")
        let new = try #require(next.last?.split(separator: ": ").last)
        #expect(new.hasPrefix("openurl new "))
        // The command works as it is printed, without a clone.
        let (shell, directory) = (URL(filePath: "/bin/sh"), root.appending(path: "home"))
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let run = try await CommandRun(
            shell,
            ["-c", "cd '\(directory.path)' && \(new)"],
            ["PATH": "\(root.path)/bin"],
            in: directory
        )
        #expect(run.status == 0 && run.output.contains("openurl register "), "\(run)")
        let service = root.appending(path: "share/dbus-1/services/org.openurl.Router1.service")
        #expect(try String(contentsOf: service, encoding: .utf8).contains("\n" + #"Exec="\#(root.path)/bin/openurld""#))
        let installed = ["bin", "share/openurl/handlers", "share/applications"].flatMap {
            FileManager.default.subpaths(atPath: root.appending(path: $0).path) ?? []
        }
        #expect(installed.contains("openurl") && !installed.contains { $0.contains("todolist") }, "\(installed)")
    }

    @Test func uninstallRemovesThePublishedFiles() async throws {
        let root = try await Self.installation(isPackage: false)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: root) } }
        let prefix = root.appending(path: "usr")
        _ = try await Self.make("uninstall", prefix: prefix)
        let rest = FileManager.default.enumerator(at: prefix, includingPropertiesForKeys: [.isRegularFileKey])
        var files: [String] = []
        while let file = rest?.nextObject() as? URL {
            if try file.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile == true {
                files.append(file.lastPathComponent)
            }
        }
        #expect(files == ["mimeinfo.cache"])
        // Nothing is left to remove.
        _ = try await Self.make("uninstall", prefix: prefix)
    }

    /// Runs a program that cannot remove a first file, because something is mounted there. In the place of a second one, it
    /// sees its own memory. Reading it from the start fails with the error of a device.
    private static let withBadFiles = [
        "/usr/bin/unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
        "mount --bind \"$0\" \"$0\" && mount --bind /proc/$$/mem \"$1\" && shift && exec \"$@\"",
    ]

    private static func canMount() throws -> Bool {
        let process = ChildProcess()
        process.executableURL = URL(filePath: withBadFiles[0])
        process.arguments = withBadFiles.dropFirst() + ["/etc/group", "/etc/passwd", "true"]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    /// Files that can never be removed or read do not keep other files from being removed. The error that may pass is reported.
    @Test(.enabled("user namespaces may mount") { try InstallationTests.canMount() })
    func serviceFileThatCannotBeReadIsReported() async throws {
        let root = try TemporaryDirectory()
        try root.makeDirectory("openurl/handlers")
        let services = "\(root.path)/dbus-1/services"
        for name in ["com.example.a", "com.example.b", "com.example.c"] {
            let text = "[D-BUS Service]\nName=\(name)\nExec=/bin/true\nX-OpenURL-Handler=\(name)\n"
            try root.write(text, to: "dbus-1/services/\(name).service")
        }
        let (mounted, unreadable) = ("\(services)/com.example.a.service", "\(services)/com.example.b.service")
        let router = RouterProcess.products.appending(path: "openurld").path
        let run = try await CommandRun(
            URL(filePath: Self.withBadFiles[0]),
            Self.withBadFiles.dropFirst() + [mounted, unreadable, router, "--publish", root.path],
            ProcessInfo.processInfo.environment,
            in: URL(filePath: root.path)
        )
        #expect(run.status == 1 && run.errors == "openurl: \(unreadable): Input/output error\n", "\(run)")
        let left = try FileManager.default.contentsOfDirectory(atPath: services).sorted()
        #expect(left == ["com.example.a.service", "com.example.b.service"])
    }

    /// Only `openurl default` changes what the desktop opens links with, whether the user, the administrator and the
    /// distribution have lists of defaults or not.
    @Test(arguments: [true, false], [true, false])
    func installationChangesNoDefault(isListed: Bool, isStaged: Bool) async throws {
        let root = FileManager.default.temporaryDirectory.appending(path: "install-\(UUID().uuidString)")
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: root) } }
        let desktop = root.appending(path: "stage/usr/share/applications")
        let folders = ["stage/usr/share/applications", "home/.config", "home/.local/share/applications", "etc/xdg"]
        let types = ["http", "https", "mailto", "tel"].map { "x-scheme-handler/\($0)" } + ["text/html"]
        for (number, folder) in folders.enumerated() {
            let directory = root.appending(path: folder)
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            // Its name comes after openurl's.
            let id = "z-browser-\(number).desktop"
            let entry = """
                [Desktop Entry]
                Type=Application
                Name=Browser
                Exec=true %u
                MimeType=\(types.joined(separator: ";"));

                """
            try entry.write(to: desktop.appending(path: id), atomically: true, encoding: .utf8)
            guard isListed else { continue }
            let list = "# mine\n[Default Applications]\n" + types.map { "\($0)=\(id);\n" }.joined() + "\n[Other]\na=b"
            try list.write(to: directory.appending(path: "mimeapps.list"), atomically: true, encoding: .utf8)
        }
        let environment = [
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "HOME": "\(root.path)/home",
            "XDG_CONFIG_DIRS": "\(root.path)/etc/xdg", "XDG_DATA_DIRS": "\(root.path)/stage/usr/share",
        ]
        func run(_ program: String, _ arguments: String...) async throws -> String {
            let run = try await CommandRun(URL(filePath: "/usr/bin/\(program)"), arguments, environment, in: root)
            #expect(run.status == 0, "\(run)")
            return run.output
        }
        func defaults() async throws -> [String] {
            var defaults: [String] = []
            for type in types {
                defaults.append(try await run("xdg-mime", "query", "default", type))
                defaults.append(try await run("gio", "mime", type))
            }
            return defaults
        }
        func lists() throws -> [String: Data] {
            let all = try #require(FileManager.default.subpaths(atPath: root.path))
            let paths = all.filter { $0.hasSuffix("mimeapps.list") || $0.hasSuffix("defaults.list") }
            return try Dictionary(
                uniqueKeysWithValues: paths.map { ($0, try Data(contentsOf: root.appending(path: $0))) }
            )
        }
        // The package manager does that when it installs or removes a package, and `make install` without a stage.
        _ = try await run("update-desktop-database", desktop.path)
        let before = (try await defaults(), try lists())
        #expect(before.1.count == (isListed ? folders.count : 0))
        #expect(before.0[2].hasPrefix("z-browser-"), "\(before.0)")
        for target in ["install", "uninstall"] {
            let make = try await Self.run(
                target,
                prefix: isStaged ? "/usr" : "\(root.path)/stage/usr",
                stage: isStaged ? "\(root.path)/stage" : "",
                examples: "todolist",
                environment: environment
            )
            try #require(make.status == 0, "\(make)")
            _ = try await run("update-desktop-database", desktop.path)
            let installed = FileManager.default.fileExists(
                atPath: desktop.appending(path: "org.openurl.Router1.desktop").path
            )
            #expect(installed == (target == "install"))
            let after = (try await defaults(), try lists())
            #expect(after.0 == before.0, "\(target)")
            #expect(after.1 == before.1, "\(target)")
        }
    }
}
