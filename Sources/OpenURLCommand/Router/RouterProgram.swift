internal import DBus
internal import Glibc

/// The router's program, which is installed beside the command.
enum RouterProgram {
    /// Continues this process as the router's program.
    ///
    /// - Parameter arguments: the arguments after the program's name.
    /// - Returns: the failure, if the program cannot be run.
    static func become(_ arguments: [String]) -> CommandFailure {
        guard let path = realpath("/proc/self/exe", nil) else { return failure("/proc/self/exe") }
        defer { free(path) }
        let program = String(cString: path) + "d"
        var pointers = ([program] + arguments).map { strdup($0) }
        pointers.append(nil)
        defer { for pointer in pointers { free(pointer) } }
        execv(program, pointers)
        return failure(program)
    }

    private static func failure(_ path: String) -> CommandFailure {
        let reason = String(cString: strerror(errno))
        return CommandFailure(.failed, "\(path) cannot be run: \(reason)", exitStatus: ExitStatus.failure)
    }
}
