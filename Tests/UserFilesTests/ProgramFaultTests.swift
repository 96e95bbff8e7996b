import Foundation
import TestSupport
import Testing

@testable import UserFiles

/// The faults of programs that the kernel does not start.
struct ProgramFaultTests {
    private let root: TemporaryDirectory

    init() throws {
        root = try TemporaryDirectory()
    }

    /// Returns the fault of a file, in which the path is written as `~`.
    private func fault(_ bytes: [UInt8], _ name: String = "program", mode: mode_t = 0o755) throws -> String? {
        let file = try root.write(bytes, to: name)
        try #require(chmod(file, mode) == 0)
        return examine(file)?.description.replacing(file, with: "~")
    }

    private func examine(_ file: String) -> ProgramFault? {
        ProgramFault(ofProgram: file, searchPath: "\(root.path)/bin:/usr/bin:/bin", formats: "\(root.path)/formats")
    }

    @Test(arguments: [
        "#!/bin/sh\n", "#! /bin/sh\n", "#!/bin/sh -e\n", "#!/usr/bin/env sh\n", "#!/usr/bin/env -S sh -e\n",
        "#!/usr/bin/env -S X=1 sh\n", "#!/usr/bin/env -S -u X sh\n", "#!/bin/sh",
    ])
    func goodScriptHasNone(_ text: String) throws {
        #expect(try fault(Array(text.utf8)) == nil)
    }

    /// Each command corrects its fault.
    @Test(
        arguments: [
            ("#!/bin/sh\n", "a.sh", 0o644, "is not executable"),
            ("#!/bin/sh\r\n:\r\n", "a", 0o755, "has Windows line endings (CR LF), so its interpreter is not found"),
            ("#!/usr/bin/env sh\r\n:\r\n", "a", 0o755, "has Windows line endings"),
            ("\u{FEFF}#!/bin/sh\n", "a", 0o755, "begins with a byte order mark, which hides its '#!'"),
            ("echo hello\n", "a b.sh", 0o755, "has no '#!' in its first line to name its interpreter"),
            ("\n#!/bin/sh\n", "a.sh", 0o755, "has no '#!' in its first line"),
            ("#!/nowhere/sh -e\n", "a", 0o755, "is a script for /nowhere/sh, which does not exist"),
            ("#!/usr/bin/env sh -e\n", "a", 0o755, "is a script for sh -e, which is not in any directory on PATH"),
        ] as [(String, String, mode_t, String)]
    )
    func commandCorrectsTheFault(_ text: String, _ name: String, _ mode: mode_t, _ reason: String) throws {
        let file = try root.write(text, to: name)
        try #require(chmod(file, mode) == 0)
        let fault = try #require(examine(file))
        #expect(fault.reason.hasPrefix(reason), "\(fault)")
        let command = try #require(fault.command)
        #expect(fault.description == "\(file) \(fault.reason); run: \(command)")
        let shell = try ChildProcess.run(URL(filePath: "/bin/sh"), arguments: ["-c", command])
        shell.waitUntilExit()
        #expect(shell.terminationStatus == 0)
        #expect(examine(file) == nil)
    }

    @Test(arguments: [
        ("", "is empty; build it again"),
        ("print(1)\n", "has no '#!' in its first line to name its interpreter; begin it with a line such as "),
        ("\0\u{1}", "is not a program; build it again"), ("MZ\0", "is a program for Windows; build it for Linux"),
        (
            "#!/nowhere/no-such-tool\n",
            "is a script for /nowhere/no-such-tool, which does not exist; install no-such-tool, or "
        ),
        (
            "#!/usr/bin/env no-such-tool\n",
            "is a script for no-such-tool, which is not in any directory on PATH; install "
        ),
    ])
    func faultHasAdvice(_ text: String, _ description: String) throws {
        let found = try fault(Array(text.utf8))
        #expect(found?.hasPrefix("~ \(description)") == true, "\(found ?? "")")
    }

    @Test func fileThatIsNoProgramIsNamed() throws {
        let path = root.path
        #expect(examine("\(path)/none")?.description == "\(path)/none does not exist")
        #expect(examine(try root.makeDirectory("folder"))?.reason == "is a directory, not a program")
        #expect(examine(try root.link("link", to: "none"))?.reason == "does not exist")
        #expect(ProgramFault(nameNotOnPath: "tool").description == "tool is not in any directory on PATH")
    }

    // MARK: Binaries

    /// The headers of a program for 64 bits, with its machine and its loader.
    private static func headers(_ machine: UInt8, loader: String = "") -> [UInt8] {
        var bytes = [0x7F] + Array("ELF".utf8) + [2, 1, 1] + [UInt8](repeating: 0, count: 113)
        bytes[18] = machine
        // One entry of 56 bytes follows the header, and the loader's name follows the entry.
        (bytes[32], bytes[54], bytes[56]) = (64, 56, loader.isEmpty ? 0 : 1)
        (bytes[64], bytes[72]) = (3, 120)
        return bytes + Array(loader.utf8) + [0]
    }

    #if arch(arm64)
        private static let (own, foreign, name): (UInt8, UInt8, String) = (183, 62, "x86-64")
    #else
        private static let (own, foreign, name): (UInt8, UInt8, String) = (62, 183, "AArch64")
    #endif

    @Test func programForAnotherMachineIsNamed() throws {
        #expect(try fault(Self.headers(Self.own)) == nil)
        let reason = "is a program for \(Self.name), and this machine has a different processor; build it here"
        #expect(try fault(Self.headers(Self.foreign)) == "~ \(reason)")
        #expect(try fault([0xCF, 0xFA, 0xED, 0xFE, 0]) == "~ is a program for macOS; build it for Linux")
    }

    @Test func missingLoaderIsNamed() throws {
        #expect(try fault(Self.headers(Self.own, loader: "/bin/sh")) == nil)
        let found = try fault(Self.headers(Self.own, loader: "/nowhere/ld.so"))
        #expect(
            found?.hasPrefix("~ needs the loader /nowhere/ld.so, which does not exist; install the C library") == true
        )
    }

    /// Damaged headers are no reason to say anything about the loader.
    @Test func hostileHeadersAreHarmless() throws {
        let good = Self.headers(Self.own, loader: "/bin/sh")
        for index in 20..<120 {
            for byte: UInt8 in [0x7F, 0xFF] {
                var bytes = good
                for place in index..<min(index + 8, 120) { bytes[place] = byte }
                _ = try fault(bytes)
            }
        }
        for count in 0...good.count { _ = try fault(Array(good.prefix(count))) }
    }

    /// The kernel starts some formats with another program (binfmt_misc).
    @Test(arguments: [
        ("enabled\ninterpreter /usr/bin/qemu\nflags: \noffset 0\nmagic 7f454c46\nmask ffffffff\n", true),
        ("enabled\ninterpreter /usr/bin/qemu\nflags: \noffset 18\nmagic FF\n", false),
        ("disabled\ninterpreter /usr/bin/qemu\nflags: \noffset 0\nmagic 7f454c46\n", false),
        ("enabled\ninterpreter /usr/bin/wine\nflags: \nextension .exe\n", false),
        ("enabled\ninterpreter /usr/bin/tool\nflags: \nextension .tool\n", true),
        ("enabled\n", false),
    ])
    func registeredFormatHasNoFault(_ format: String, _ isRegistered: Bool) throws {
        try root.write(format, to: "formats/other")
        #expect(try (fault(Self.headers(Self.foreign), "program.tool") == nil) == isRegistered)
        // Nothing of this is about the interpreter of a script.
        #expect(try fault(Array("#!/nowhere/no-such-tool\n".utf8), "program.tool") != nil)
    }
}
