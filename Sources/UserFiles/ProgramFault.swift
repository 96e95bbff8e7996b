internal import Glibc

/// Why a program cannot be started, and what to do about it.
///
/// The kernel's own errors mislead: if a script's interpreter is missing, the kernel says that the script does not
/// exist.
package struct ProgramFault: Error, Hashable, CustomStringConvertible {
    /// The name or path of the program.
    package let program: String
    /// The fault, worded to follow the program's name.
    package let reason: String
    /// How to correct the fault; nil if the file has to be put back, or a different one chosen.
    package let advice: String?
    /// The command that corrects the fault; nil if the user has to do it.
    package let command: String?
    /// Whether the program is a script, and the fault is in the line with its interpreter.
    package let isInterpreter: Bool

    /// The program, the fault and how to correct it.
    package var description: String { "\(printable(program)) \(sentence)" }

    /// The fault and how to correct it, worded to follow the program's name.
    package var sentence: String { advice.map { "\(reason); \($0)" } ?? reason }

    private init(
        _ program: String,
        _ reason: String,
        _ advice: String? = nil,
        command: String? = nil,
        isInterpreter: Bool = false
    ) {
        self.program = program
        self.reason = reason
        self.advice = command.map { "run: \($0)" } ?? advice
        self.command = command
        self.isInterpreter = isInterpreter
    }

    /// Creates the fault for a name that is not on `PATH`.
    package init(nameNotOnPath name: String) {
        self.init(name, "is not in any directory on PATH")
    }

    /// Looks for a fault in a program; nil if there is none. This may wait for a file system.
    ///
    /// - Parameters:
    ///   - searchPath: the value of `PATH` for the program; nil for the usual directories.
    ///   - formats: the directory with the formats that the kernel starts with another program.
    package init?(
        ofProgram path: String,
        searchPath: String?,
        formats: String = RegisteredFormat.directory
    ) {
        do throws(FileError) {
            let found = try status(of: path, followingLinks: true)
            guard found.st_mode & S_IFMT == S_IFREG else {
                self.init(path, "is \(fileTypeName(found)), not a program", "name the program itself")
                return
            }
        } catch {
            self.init(path, error.isAbsence ? "does not exist" : error.reason)
            return
        }
        guard access(path, X_OK) == 0 else {
            self = Self.notExecutable(path)
            return
        }
        // Nothing more can be found out about a program that may be started but not read.
        guard let head = firstBytes(of: path, count: Self.headSize), let fault = Self.fault(of: head, path, searchPath),
            head.starts(with: "#!".utf8) || !RegisteredFormat.isRegistered(head, path, formats)
        else { return nil }
        self = fault
    }

    /// A program's headers are within this many bytes.
    private static let headSize = 4096

    /// `ST_NOEXEC` of statvfs(3).
    private static let noExecution: UInt = 8

    private static func notExecutable(_ path: String) -> ProgramFault {
        var system = statvfs()
        if statvfs(path, &system) == 0, system.f_flag & noExecution != 0 {
            let reason = "is on a file system from which no program may be started (noexec)"
            return ProgramFault(path, reason, "move it to another file system")
        }
        return ProgramFault(path, "is not executable", command: "chmod +x \(quotedForShell(path))")
    }

    private static func fault(of head: [UInt8], _ path: String, _ searchPath: String?) -> ProgramFault? {
        if let binary = BinaryProgram(head) { return fault(of: binary, path) }
        if head.starts(with: "#!".utf8) { return fault(ofScript: head, path, searchPath) }
        if head.starts(with: [0xEF, 0xBB, 0xBF] + "#!".utf8) {
            let command = #"sed -i '1s/^\xEF\xBB\xBF//' "# + quotedForShell(path)
            return ProgramFault(path, "begins with a byte order mark, which hides its '#!'", command: command)
        }
        if head.isEmpty { return ProgramFault(path, "is empty", "build it again") }
        if let system = BinaryProgram.foreignSystem(of: head) {
            return ProgramFault(path, "is a program for \(system)", "build it for Linux")
        }
        guard !head.contains(0) else { return ProgramFault(path, "is not a program", "build it again") }
        let reason = "has no '#!' in its first line to name its interpreter"
        guard let interpreter = usualInterpreters.first(where: { path.hasSuffix($0.suffix) }) else {
            return ProgramFault(
                path,
                reason,
                "begin it with a line such as #!/usr/bin/env python3",
                isInterpreter: true
            )
        }
        let command = "sed -i \(quotedForShell("1i #!\(interpreter.line)")) \(quotedForShell(path))"
        return ProgramFault(path, reason, command: command, isInterpreter: true)
    }

    /// The first line to suggest for a script without `#!`, by the suffix of the script's name.
    private static let usualInterpreters: [(suffix: String, line: String)] = [
        (".sh", "/bin/sh"), (".bash", "/usr/bin/env bash"), (".py", "/usr/bin/env python3"),
        (".rb", "/usr/bin/env ruby"), (".pl", "/usr/bin/env perl"), (".js", "/usr/bin/env node"),
        (".mjs", "/usr/bin/env node"), (".lua", "/usr/bin/env lua"), (".php", "/usr/bin/env php"),
    ]

    // MARK: Scripts

    private static func fault(ofScript head: [UInt8], _ path: String, _ searchPath: String?) -> ProgramFault? {
        let line = head.split(separator: UInt8(ascii: "\n"), maxSplits: 1).first ?? []
        guard line.last != UInt8(ascii: "\r") else {
            let command = #"sed -i 's/\r$//' "# + quotedForShell(path)
            let reason = "has Windows line endings (CR LF), so its interpreter is not found"
            return ProgramFault(path, reason, command: command, isInterpreter: true)
        }
        let missing: (name: String, reason: String)
        switch ScriptInterpreter(head) {
        case .path(let interpreter) where access(interpreter, X_OK) != 0:
            missing = (interpreter, "is a script for \(printable(interpreter)), which does not exist")
        case .nameOnPath(let name) where programPath(named: name, in: searchPath) == nil:
            missing = (name, "is a script for \(printable(name)), which is not in any directory on PATH")
        default: return nil
        }
        if missing.name.contains(" ") {
            let command = "sed -i '1s|env |env -S |' \(quotedForShell(path))"
            return ProgramFault(path, missing.reason, command: command, isInterpreter: true)
        }
        let name = names(onPath: missing.name).last ?? missing.name
        guard let other = programPath(named: name, in: searchPath) else {
            let advice = "install \(printable(name)), or correct its first line"
            return ProgramFault(path, missing.reason, advice, isInterpreter: true)
        }
        let command = "sed -i \(quotedForShell("1s|^#!.*|#!\(other)|")) \(quotedForShell(path))"
        return ProgramFault(path, missing.reason, command: command, isInterpreter: true)
    }

    // MARK: Binaries

    private static func fault(of binary: BinaryProgram, _ path: String) -> ProgramFault? {
        if let machine = binary.foreignMachine {
            return ProgramFault(
                path,
                "is a program for \(machine), and this machine has a different processor",
                "build it here"
            )
        }
        guard let loader = binary.loader, access(loader, X_OK) != 0 else { return nil }
        return ProgramFault(
            path,
            "needs the loader \(printable(loader)), which does not exist",
            "install the C library that it was built for, or build it here"
        )
    }
}
