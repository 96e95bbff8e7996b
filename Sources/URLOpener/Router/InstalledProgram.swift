internal import DBus
internal import Glibc
internal import Processes
internal import Translations

/// A program that is installed next to this one.
package enum InstalledProgram: String {
    /// The program for command lines with options and commands.
    case command = "openurl-command"
    case router = "openurld"

    /// Replaces this process's program with the installed one.
    ///
    /// - Parameter arguments: the arguments after the program's name.
    /// - Returns: the failure, if the program cannot be run.
    package func become(_ arguments: [String]) -> CommandFailure {
        run { path in
            var pointers = arguments.map { strdup($0) }
            defer { for pointer in pointers { free(pointer) } }
            pointers.append(nil)
            execv(path, [UnsafeMutablePointer(mutating: path)] + pointers)
        }
    }

    /// Replaces this process's program with the installed one, which gets the same arguments.
    ///
    /// - Returns: the exit status, if the program cannot be run. The reason is printed.
    package func becomeForSameArguments(_ invocation: Invocation) -> Int32 {
        let failure = run { path in execv(path, CommandLine.unsafeArgv) }
        invocation.errors.print(failure)
        return failure.exitStatus
    }

    /// Calls `body` with the program's path, to run the program. If `body` returns, that has failed, and this method
    /// returns the failure.
    private func run(_ body: (UnsafePointer<CChar>) -> Void) -> CommandFailure {
        guard let bytes = ProcessProgram.bytes(ofNeighbour: rawValue) else {
            return Self.failure(translated("/proc/self/exe cannot be read: \(systemErrorText(errno))"))
        }
        return bytes.map(CChar.init(bitPattern:)).withUnsafeBufferPointer { path in
            // The bytes end with a zero, so there is a first one.
            if let path = path.baseAddress { body(path) }
            let reason = systemErrorText(errno)
            return Self.failure(
                translated("\(String(decoding: bytes.dropLast(), as: UTF8.self)) cannot be run: \(reason)")
            )
        }
    }

    /// Creates a failure. A missing program counts as an unavailable service.
    private static func failure(_ problem: String) -> CommandFailure {
        CommandFailure(.failed, problem, exitStatus: ExitStatus.unavailable)
    }
}
