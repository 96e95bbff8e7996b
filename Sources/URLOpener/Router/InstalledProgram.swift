internal import DBus
internal import Glibc

/// A program that is installed beside this one.
package enum InstalledProgram: String {
    /// The command lines with options and commands.
    case command = "openurl-command"
    case router = "openurld"

    /// Continues this process as the program.
    ///
    /// - Parameter arguments: the arguments after the program's name.
    /// - Returns: the failure, if the program cannot be run.
    package func become(_ arguments: [CommandLineArgument]) -> CommandFailure {
        guard let own = realpath("/proc/self/exe", nil) else { return Self.failure("/proc/self/exe") }
        defer { free(own) }
        let program = String(cString: own).split(separator: "/").dropLast().map { "/\($0)" }.joined() + "/\(rawValue)"
        var pointers = ([.text(program)] + arguments).map { argument in
            strdup(argument.bytes.map(CChar.init(bitPattern:)) + [0])
        }
        pointers.append(nil)
        defer { for pointer in pointers { free(pointer) } }
        execv(program, pointers)
        return Self.failure(program)
    }

    /// Continues this process as the program, with the same arguments.
    ///
    /// - Returns: the exit status, if the program cannot be run.
    package func become(for invocation: Invocation) -> Int32 {
        let failure = become(invocation.arguments)
        invocation.errors.print(failure)
        return failure.exitStatus
    }

    private static func failure(_ path: String) -> CommandFailure {
        let reason = String(cString: strerror(errno))
        return CommandFailure(.failed, "\(path) cannot be run: \(reason)", exitStatus: ExitStatus.failure)
    }
}
