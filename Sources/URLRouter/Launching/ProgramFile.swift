internal import CLinux
internal import Glibc
internal import Processes
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage
internal import UserFiles

/// A program's file. Don't call these functions on the event loop, because any of them may wait indefinitely for a file
/// system.
enum ProgramFile {
    /// Returns the path of a handler's program.
    static func path(of program: Handler.Program, _ environment: [String: String]) throws(Errno) -> String {
        switch program {
        case .path(let path): path
        case .nameOnPath(let name): try path(ofName: name, environment)
        // In this case, the bus starts the application.
        case .desktopEntry: throw .noSuchFileOrDirectory
        }
    }

    /// Returns the path of the program with this name on `PATH`.
    static func path(ofName name: String, _ environment: [String: String]) throws(Errno) -> String {
        guard let path = programPath(named: name, in: environment["PATH"]) else { throw .noSuchFileOrDirectory }
        return path
    }

    /// Returns why a launch refuses a handler's program, with its path; nil if it does not, or if there is no such file.
    static func distrust(of program: Handler.Program, _ environment: [String: String]) -> String? {
        do throws(Errno) {
            let path = try path(of: program, environment)
            return TrustedPaths.distrust(ofProgram: path).map { "\(printable(path)) \($0)" }
        } catch {
            return nil
        }
    }

    /// Returns the state of a handler's program file; nil if there is no such file.
    static func version(of program: Handler.Program, _ environment: [String: String]) -> FileVersion? {
        do throws(Errno) {
            var status = stat()
            return stat(try path(of: program, environment), &status) == 0 ? FileVersion(status) : nil
        } catch {
            return nil
        }
    }

    /// Returns whether a process runs a handler's own program or, if this is a script, the script.
    static func isRun(_ program: Handler.Program, by pid: UInt32, _ environment: [String: String]) -> Bool {
        guard let running = ProcessProgram.path(pid: pid) else { return false }
        do throws(Errno) {
            guard let path = resolved(try path(of: program, environment)) else { return false }
            if running == path { return true }
            let interpreter: String
            switch ScriptInterpreter(ofFile: path) {
            case .path(let path): interpreter = path
            case .nameOnPath(let name): interpreter = try self.path(ofName: name, environment)
            case nil: return false
            }
            return running == resolved(interpreter) && ProcessProgram.script(pid: pid) == path
        } catch {
            return false
        }
    }

    private static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(validatingCString: resolved)
    }
}
