internal import CLinux
internal import DBus
internal import Glibc
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage
internal import UserFiles

/// A program that is about to be started.
struct ProgramStart: Sendable {
    let program: Handler.Program
    /// All of `argv`.
    let arguments: [String]
    let environment: [String: String]
    /// The working directory; nil for the home directory.
    var directory: String?
    /// Whether the program runs in a terminal emulator.
    var runsInTerminal = false
    /// Whether it is known that no other user can change the program. If not, the start checks this, with a few calls
    /// to lstat(2).
    var isTrusted = true
    /// The manifest with the program; nil for an application's command.
    var manifest: String?
    /// The descriptor for its standard input; nil if that is empty.
    var input: UnixFD?
    /// The descriptor for its output.
    let output: UnixFD
    /// The descriptor for its standard error; nil if that is its output.
    var errors: UnixFD?

    /// A child that is not watched yet.
    struct Started: Sendable {
        let pid: CInt
        let program: ExaminedProgram
    }

    /// Why a program was not started.
    enum Failure: Error, CustomStringConvertible {
        case refused(Errno)
        /// The file cannot be started.
        case unusable(ProgramFault)
        /// The file cannot be started, and the manifest with the program no longer exists: the project was moved or
        /// removed.
        case abandoned(ProgramFault)
        case noTerminal
        /// Another user can change the program. The text gives the path, the reason, and the command that fixes it.
        case untrusted(String)
        /// The file system did not provide the program's file within this time limit.
        case tooSlow(Duration)
        /// Too many programs are being started. The value is their number.
        case tooMany(Int)
        /// The manager of services refused it, or could not start it. The value is the reason.
        case refusedByManager(String)

        var description: String {
            switch self {
            case .refused(let error): "\(error)"
            case .unusable(let fault), .abandoned(let fault): fault.sentence
            case .noTerminal:
                "needs a terminal (Terminal=true), but neither xdg-terminal-exec nor x-terminal-emulator is installed"
            case .untrusted(let reason): reason
            case .tooSlow(let limit): "the file system did not provide the file within \(limit.inWords)"
            case .refusedByManager(let reason): "systemd did not start it: \(reason)"
            case .tooMany(let count): "\(count) of its starts are waiting for a file system that is not responding"
            }
        }

        /// The error code for callers.
        var code: OpenURLError.Code {
            switch self {
            case .refused(.tooManyOpenFiles), .tooMany: .limitsExceeded
            case .refused, .unusable, .abandoned, .noTerminal, .untrusted, .tooSlow, .refusedByManager: .launchFailed
            }
        }
    }

    /// Starts the program as a child of this process. This may wait indefinitely for a file system.
    func start() -> Result<Started, Failure> {
        examine().flatMap { examined in
            do throws(Errno) {
                let pid = try ProcessHandle.start(
                    examined.path,
                    arguments: examined.arguments,
                    environment: examined.environment.map { "\($0)=\($1)" },
                    directory: examined.directory,
                    input: input?.rawValue,
                    output: output.rawValue,
                    errors: errors?.rawValue
                )
                return .success(Started(pid: pid, program: examined))
            } catch {
                return .failure(error == .tooManyOpenFiles ? .refused(error) : failure(of: examined) ?? .refused(error))
            }
        }
    }

    /// Finds the program's file, and examines it. This may wait indefinitely for a file system.
    func examine() -> Result<ExaminedProgram, Failure> {
        do throws(Failure) {
            let terminal = runsInTerminal ? try terminal : []
            let path = try path(of: terminal.first.map(Handler.Program.nameOnPath) ?? program)
            if !isTrusted, let reason = TrustedPaths.distrust(ofProgram: path) {
                throw .untrusted("\(printable(path)) \(reason)")
            }
            return .success(
                ExaminedProgram(
                    path: path,
                    arguments: terminal + arguments,
                    environment: environment,
                    directory: directory ?? home,
                    version: ProgramFile.version(of: program, environment),
                    fault: ProgramFault(ofProgram: path, searchPath: environment["PATH"]),
                    input: input,
                    errors: errors
                )
            )
        } catch {
            return .failure(error)
        }
    }

    /// Returns why the kernel did not execute a program, if its file tells.
    func failure(of program: ExaminedProgram) -> Failure? { program.fault.map(failure) }

    private func path(of program: Handler.Program) throws(Failure) -> String {
        do throws(Errno) {
            return try ProgramFile.path(of: program, environment)
        } catch {
            throw failure(ProgramFault(nameNotOnPath: program.description))
        }
    }

    private func failure(_ fault: ProgramFault) -> Failure {
        if let manifest, access(manifest, F_OK) != 0, errno == ENOENT { return .abandoned(fault) }
        return .unusable(fault)
    }

    private var home: String {
        environment["HOME"].flatMap { access($0, X_OK) == 0 ? $0 : nil } ?? "/"
    }

    /// The terminal emulator with its arguments.
    private var terminal: [String] {
        get throws(Failure) {
            for terminal in [["xdg-terminal-exec"], ["x-terminal-emulator", "-e"]] {
                do throws(Errno) {
                    _ = try ProgramFile.path(ofName: terminal[0], environment)
                    return terminal
                } catch {
                    continue
                }
            }
            throw .noTerminal
        }
    }
}

/// A program whose file was found and examined, ready to be started.
struct ExaminedProgram: Sendable {
    /// The path of the file. A relative path starts at ``directory``.
    let path: String
    /// All of `argv`.
    let arguments: [String]
    let environment: [String: String]
    /// The working directory.
    let directory: String
    /// The state of the program's file before the start.
    let version: FileVersion?
    /// A fault in the file that need not prevent the kernel from starting it, such as an interpreter that `env` does not
    /// find.
    let fault: ProgramFault?
    /// The descriptor for its standard input; nil if that is empty.
    var input: UnixFD?
    /// The descriptor for its standard error; nil if that is its output.
    var errors: UnixFD?
}
