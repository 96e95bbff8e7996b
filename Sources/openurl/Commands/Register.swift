internal import ArgumentParser
internal import DBus
internal import Glibc
internal import OpenURLBus

struct Register: Command {
    static let configuration = CommandConfiguration(
        commandName: "register",
        abstract: "Add handlers for this user.",
        discussion: "Prints each handler with its schemes, and on standard error what is odd about it."
    )

    @OptionGroup var outputOptions: OutputOptions

    @Argument(help: .init("A bundle, or a manifest.", valueName: "path"))
    var paths: [CommandLineArgument]

    func perform(_ output: StandardOutput) -> Int32 {
        let router = Router()
        var table = Table(header: ["ID", "SCHEMES", "PATH"])
        let batch = Batch(key: "path", printsJSON: outputOptions.json, output: output)
        let status = batch.perform(paths, name: \.shown) { (path) throws(Failure) in
            let absolute = try path.absolutePath()
            let handler = try router.call(RegistryInterface.register, absolute, refusal: ExitStatus.failure)
            if outputOptions.json {
                output.print(JSON(handler).text)
            } else {
                table.rows.append([handler.id, handler.schemes.joined(separator: ","), handler.path])
            }
            for warning in handler.warnings { StandardError.print("warning: \(handler.id): \(warning)") }
        }
        table.print(to: output)
        return status
    }
}

extension CommandLineArgument {
    /// The path from the root, relative to the working directory where it is not absolute, without its `.` elements;
    /// `..` stays, as what it means depends on symbolic links.
    fileprivate func absolutePath() throws(Failure) -> String {
        guard let text, !text.isEmpty else {
            let problem = text == nil ? "a path that is not UTF-8 cannot be sent over the bus" : "the path is empty"
            throw Failure(.invalidArguments, problem, exitStatus: ExitStatus.usage)
        }
        var path = text
        if !text.utf8.starts(with: "/".utf8) {
            guard let directory = getcwd(nil, 0) else {
                let reason = String(cString: strerror(errno))
                throw Failure(.failed, "the working directory: \(reason)", exitStatus: ExitStatus.failure)
            }
            defer { free(directory) }
            path = String(cString: directory) + "/" + text
        }
        return "/" + path.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }
}
