import Desktop
import FoundationEssentials
import Glibc
import TestSupport
import Testing
import UserFiles

@testable import SchemeRegistry

/// Directories full of broken, half-written and hostile files.
@Suite(.timeLimit(.minutes(10))) struct HostileDirectoriesTests {
    private let root: TemporaryDirectory
    private let directories: RegistryDirectories

    init() throws {
        root = try TemporaryDirectory()
        directories = RegistryDirectories(user: "\(root.path)/user", system: [])
    }

    /// A program that takes all descriptors must not unregister the handlers.
    @Test func handlersStayWhileNoDescriptorIsFree() async {
        // A child process has its own descriptors.
        await #expect(processExitsWith: .success) {
            let root = try TemporaryDirectory()
            try root.write(try manifest("com.acme.old").encoded(), to: "user/com.acme.old.plist")
            let new = try root.write(try manifest("com.acme.new").encoded(), to: "com.acme.new.plist")
            var loader = RegistryLoader(RegistryDirectories(user: "\(root.path)/user", system: []))
            _ = loader.update()
            #expect(loader.registry.handlers.count == 1 && !loader.isStale)
            let taken = TakenDescriptors()
            #expect(rename(new, "\(root.path)/user/com.acme.new.plist") == 0)
            _ = loader.update()
            let (handlers, isStale) = (loader.registry.handlers, loader.isStale)
            taken.giveBack()
            #expect(handlers.map(\.id.rawValue) == ["com.acme.old"] && isStale)
            _ = loader.update()
            #expect(loader.registry.handlers.count == 2 && !loader.isStale)
            withExtendedLifetime(root) {}
        }
    }

    /// The names of other programs' services must not become free.
    @Test func servicesStayWhileNoDescriptorIsFree() async {
        // A child process has its own descriptors.
        await #expect(processExitsWith: .success) {
            let root = try TemporaryDirectory()
            func service(_ name: String) -> [UInt8] { Array("[D-BUS Service]\nName=\(name)\nExec=/bin/true\n".utf8) }
            try root.write(service("com.acme.old"), to: "services/old.service")
            let new = try root.write(service("com.acme.new"), to: "new.service")
            var services = DBusServiceNames(in: ["\(root.path)/services"])
            _ = services.update()
            #expect(services["com.acme.old"] != nil && !services.isStale)
            let taken = TakenDescriptors()
            #expect(rename(new, "\(root.path)/services/new.service") == 0)
            let isOther = services.update()
            taken.giveBack()
            #expect(!isOther && services["com.acme.old"] != nil && services.isStale)
            _ = services.update()
            #expect(services["com.acme.old"] != nil && services["com.acme.new"] != nil && !services.isStale)
            withExtendedLifetime(root) {}
        }
    }

    @Test func servicesBesideAnUnreadableOneAreKnown() throws {
        try root.write("[D-BUS Service]\nName=com.acme.other\nExec=/bin/true\n", to: "services/other.service")
        // Reading the memory of this process from its start fails with the error of a device.
        try root.link("services/bad.service", to: "/proc/self/mem")
        var services = DBusServiceNames(in: ["\(root.path)/services"])
        _ = services.update()
        #expect(services["com.acme.other"] != nil && services.isStale)
    }

    /// Each maker gets the number of its file and returns the expected diagnostic without the directory.
    private typealias Maker = @Sendable (TemporaryDirectory, Int) throws -> String

    private static func name(_ number: Int) -> String { "com.acme.h\(number).plist" }

    private static let makers: [Maker] = [
        { root, number in
            try root.link("user/\(name(number))", to: name(number))
            return "\(name(number)): is part of a cycle of links"
        },
        { root, number in
            try root.link("user/Loop\(number).app", to: "loop\(number)")
            try root.link("user/loop\(number)", to: "Loop\(number).app")
            return "Loop\(number).app: is part of a cycle of links"
        },
        { root, number in
            try root.link("user/\(name(number))", to: "../nowhere")
            return "\(name(number)): leads to ../nowhere, which was moved or removed"
        },
        { root, number in
            try root.makeFIFO("user/\(name(number))")
            return "\(name(number)): is a FIFO, not a file"
        },
        { root, number in
            try root.makeFIFO("user/Pipe\(number).app/Info.plist")
            return "Pipe\(number).app/Info.plist: is a FIFO, not a file"
        },
        { root, number in
            try root.link("user/\(name(number))", to: "/dev/zero")
            return "\(name(number)): is a device, not a file"
        },
        { root, number in
            try root.makeSparseFile("user/\(name(number))", size: 1 << 30)
            return "\(name(number)): is larger than 1048576 bytes"
        },
        { root, number in
            try root.makeSparseFile("user/\(name(number))", size: (1 << 20) + 1)
            return "\(name(number)): is larger than 1048576 bytes"
        },
        { root, number in
            try root.makeSparseFile("user/\(name(number))", size: 1 << 20)
            return "\(name(number)): is neither an XML nor a binary property list"
        },
        { root, number in
            try root.makeDirectory("user/\(name(number))")
            return "\(name(number)): is a directory, not a file"
        },
        { root, number in
            try root.write([], to: "user/File\(number).app")
            return "File\(number).app: is a file, not a directory"
        },
        { root, number in
            try root.makeDirectory("user/Empty\(number).app")
            return "Empty\(number).app/Info.plist: does not exist"
        },
        { root, number in
            try root.link("user/Out\(number).app/Info.plist", to: "/etc/passwd")
            return "Out\(number).app/Info.plist: is a link that leads out of the bundle"
        },
        { root, number in
            try root.write([], to: "user/\(name(number))")
            return "\(name(number)): is neither an XML nor a binary property list"
        },
        { root, number in
            let list = manifest("com.acme.h\(number)", schemes: ["x/y"])
            try root.write(try list.encoded(), to: "user/\(name(number))")
            return "\(name(number)): CFBundleURLTypes[0].CFBundleURLSchemes[0]: "
                + "contains '/'; a scheme is made of letters, digits, '+', '-' and '.'"
        },
        { root, number in
            let list = manifest("com.acme.h\(number)", schemes: ["x", "y\0"])
            try root.write(try list.encoded(.binary), to: "user/\(name(number))")
            return "\(name(number)): CFBundleURLTypes[0].CFBundleURLSchemes[1]: contains U+0000"
        },
        { root, number in
            try root.write(
                xml("<dict><key>CFBundleIdentifier</key><string>com.\u{0}</string></dict>"),
                to: "user/\(name(number))"
            )
            return "\(name(number)): contains a NUL byte"
        },
        { root, number in
            try root.write(xml("<dict><key>") + [0xFF, 0xFE] + xml("</key>"), to: "user/\(name(number))")
            return "\(name(number)): is not UTF-8"
        },
        { root, number in
            let list = manifest("../com.acme.h\(number)")
            try root.write(try list.encoded(), to: "user/\(name(number))")
            return "\(name(number)): CFBundleIdentifier: "
                + "contains '/'; a bundle identifier is made of letters, digits, '-', '_' and '.'"
        },
        { root, number in
            var list = manifest("com.acme.h\(number)")
            list["CFBundleExecutable"] = "../../bin/sh"
            try root.write(try list.encoded(), to: "user/\(name(number))")
            return
                "\(name(number)): CFBundleExecutable: leads out of the handler's directory with '..'; give an absolute path"
        },
        { root, number in
            let whole = try manifest("com.acme.h\(number)").encoded(.binary)
            try root.write(Array(whole.dropLast(40)), to: "user/\(name(number))")
            return "\(name(number)): is a damaged binary property list"
        },
        { root, number in
            let whole = try manifest("com.acme.h\(number)").encoded(.xml)
            try root.write(Array(whole.dropLast(30)), to: "user/\(name(number))")
            return "\(name(number)): is not a property list"
        },
        { root, number in
            try root.write(xml(String(repeating: "<dict><key>a</key>", count: 3000)), to: "user/\(name(number))")
            return "\(name(number)): nests or contains more than 256 arrays and dictionaries"
        },
        { root, number in
            let cycle: [UInt8] = [0xA1, 0, 8, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1]
            let bytes = Array("bplist00".utf8) + cycle + [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10]
            try root.write(bytes, to: "user/\(name(number))")
            return "\(name(number)): nests or contains more than 256 arrays and dictionaries"
        },
        { root, number in
            try root.write(try manifest("com.acme.h\(number)").encoded(), to: "user/com.acme.other\(number).plist")
            return "com.acme.other\(number).plist: CFBundleIdentifier: "
                + "is com.acme.h\(number), so the file has to be called \(name(number))"
        },
    ]

    @Test func hostileFilesAreDiagnosticsAndTheRestIsServed() throws {
        var expected: Set<String> = []
        for round in 0..<8 {
            for (index, make) in Self.makers.enumerated() {
                expected.insert(try make(root, round * Self.makers.count + index))
            }
        }
        #expect(expected.count == 200)
        for number in 0..<10 {
            let list = manifest("com.acme.good\(number)", schemes: ["good\(number)"])
            try root.write(
                try list.encoded(number.isMultiple(of: 2) ? .xml : .binary),
                to: "user/com.acme.good\(number).plist"
            )
        }

        let registry = Registry(loading: directories)
        for diagnostic in registry.diagnostics {
            let text = diagnostic.description.dropFirst("\(root.path)/user/".count)
            // The decoder words its own text about a truncated file, and advice may follow, so only the start is
            // compared.
            let match = expected.first { start in
                text == start || ([": ", ", but ", "; "].contains { text.hasPrefix(start + $0) })
            }
            #expect(match != nil, "unexpected: \(text)")
            if let match { expected.remove(match) }
        }
        #expect(expected == [])
        #expect(registry.handlers.map(\.id.rawValue).sorted() == (0..<10).map { "com.acme.good\($0)" })
        for number in 0..<10 {
            #expect(try registry.handler(for: Scheme("good\(number)"), host: nil) != nil)
        }
    }

    @Test func socketIsRefused() throws {
        try root.makeDirectory("user")
        let path = "\(root.path)/user/com.acme.app.plist"
        try #require(mknod(path, S_IFSOCK | 0o600, 0) == 0)
        #expect(Registry(loading: directories).diagnostics.map(\.reason) == ["is a socket, not a file"])
    }

    @Test func fifoInPlaceOfAFileDoesNotBlock() throws {
        let path = try root.makeFIFO("fifo")
        #expect(throws: FileError("is a FIFO, not a file")) { try contents(ofFile: path, limit: 100) }
    }

    @Test func linkIsNotFollowed() throws {
        try root.write([1], to: "file")
        let link = try root.link("link", to: "file")
        #expect(throws: FileError(code: ELOOP)) { try contents(ofFile: link, limit: 100) }
    }

    @Test func nameThatIsNotUTF8IsADiagnostic() throws {
        try root.makeDirectory("user")
        let name = Array("\(root.path)/user/com.acme.".utf8CString.dropLast()) + [-1] + Array(".plist".utf8CString)
        let descriptor = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        close(descriptor)
        let registry = Registry(loading: directories)
        #expect(
            registry.diagnostics.map(\.description) == [
                "\(root.path)/user/com.acme.\\u{FFFD}.plist: has a name that is not UTF-8"
            ]
        )
    }

    @Test func hostileNameIsEscaped() throws {
        try root.write([], to: "user/a\u{1B}[2J\u{202E}.plist")
        let text = try #require(Registry(loading: directories).diagnostics.first).description
        #expect(text.unicodeScalars.allSatisfy { $0.isASCII && $0.value >= 0x20 })
    }
}
