internal import DBus
internal import Glibc
internal import OpenURLBus
internal import RFC1808
internal import Release
internal import Translations

/// `xdg-open` of openurl: the same command line and exit statuses as `xdg-open` of xdg-utils, but the router opens the URL.
///
/// `openurl` behaves like this if it is called by the name `xdg-open`. For the router, it is still the `openurl` command, so the
/// sender of the URL is the program that has started `xdg-open`. Unlike that of xdg-utils, it exits when the router has
/// answered.
///
/// If there is no router, or if openurl knows no program for a file or a web page, the ``OtherOpener`` gets the URL.
struct XDGOpen {
    /// The name by which `openurl` is called.
    static let name = "xdg-open"

    /// Exit statuses of `xdg-open`, apart from 0 (xdg-open(1)).
    enum Status {
        /// The command line is wrong.
        static let syntax: Int32 = 1
        /// The file does not exist.
        static let missingFile: Int32 = 2
        /// There is no program to open the URL with.
        static let missingTool: Int32 = 3
        /// The URL was not opened.
        static let failure: Int32 = 4
    }

    let arguments: [CommandLineArgument]

    /// Performs the command line.
    ///
    /// - Returns: the exit status. Does not return if another opener gets the URL.
    func perform(_ invocation: Invocation) -> Int32 {
        // As in xdg-utils, these count wherever they are.
        for argument in arguments {
            switch argument.text {
            case "--help": return print(Self.usage, invocation)
            case "--manual": return print(Self.usage + Self.manual, invocation)
            case "--version": return print(["\(Self.name) (openurl) \(Version.current)"], invocation)
            default: break
            }
        }
        guard let target = arguments.first, !target.bytes.isEmpty else {
            _ = print(Self.usage, invocation)
            return Status.syntax
        }
        if let option = arguments.first(where: { $0.bytes.first == UInt8(ascii: "-") }) {
            return fail(
                translated("the option '\(option.shown)' is unknown; try 'xdg-open --help'"),
                Status.syntax,
                invocation
            )
        }
        guard arguments.count == 1 else {
            let reason = translated("'\(arguments[1].shown)' is one argument too many; try 'xdg-open --help'")
            return fail(reason, Status.syntax, invocation)
        }
        return open(target, invocation)
    }

    private func open(_ target: CommandLineArgument, _ invocation: Invocation) -> Int32 {
        let failure: CommandFailure
        do throws(CommandFailure) {
            let url =
                try target.hasScheme ? .text(GenericURL.escapingForbiddenBytes(in: target.bytes)) : fileURL(of: target)
            try checkFile(of: url, named: target)
            try OpenOperation(urls: [url]).performOnly(invocation)
            return 0
        } catch {
            failure = error
        }
        if failure.name == .fileNotFound { return fail(failure.message, Status.missingFile, invocation) }
        let isUnreachable = failure.isWithoutRouter
        guard isUnreachable || failure.name == OpenURLError.Code.noHandler.errorName else {
            return fail(failure.message, Status.failure, invocation)
        }
        if isUnreachable || OtherOpener.mayKnow(target), let other = OtherOpener(for: target, invocation.environment) {
            let reason =
                isUnreachable
                ? translated("the router cannot be reached, so \(other.path) opens the URL")
                : translated("openurl knows no program for the URL, so \(other.path) opens it")
            invocation.errors.print(reason)
            invocation.output.flush()
            return fail(other.become(), Status.missingTool, invocation)
        }
        return fail(failure.message, Status.missingTool, invocation)
    }

    private func fileURL(of target: CommandLineArgument) throws(CommandFailure) -> CommandLineArgument {
        guard target.namesFile else { throw Self.missingFile(target) }
        return .text(try target.fileURL())
    }

    /// Checks that a `file` URL refers to an existing file.
    private func checkFile(of url: CommandLineArgument, named target: CommandLineArgument) throws(CommandFailure) {
        guard let text = url.text, text.prefix("file:".count).lowercased() == "file:" else { return }
        let parsed: GenericURL
        do throws(GenericURL.ParseError) {
            parsed = try GenericURL(text)
        } catch {
            throw CommandFailure(error)
        }
        guard parsed.host.map({ $0.isEmpty || $0.lowercased() == "localhost" }) != false,
            let path = parsed.decodedBytes(.path), !path.contains(0)
        else { return }
        guard access(path.map(CChar.init(bitPattern:)) + [0], F_OK) == 0 else { throw Self.missingFile(target) }
    }

    private static func missingFile(_ target: CommandLineArgument) -> CommandFailure {
        let reason = translated("the file '\(target.shown)' does not exist")
        return CommandFailure(.fileNotFound, reason, exitStatus: ExitStatus.noInput)
    }

    private func print(_ lines: [String], _ invocation: Invocation) -> Int32 {
        for line in lines { invocation.output.print(line) }
        return 0
    }

    private func fail(_ reason: String, _ status: Int32, _ invocation: Invocation) -> Int32 {
        invocation.errors.print(CommandFailure(.failed, reason, exitStatus: status))
        return status
    }

    private static var usage: [String] {
        [
            translated("xdg-open opens a file or a URL with the program that you use for it."), "",
            "xdg-open {FILE | URL}",
            "xdg-open {--help | --manual | --version}",
        ]
    }

    private static var manual: [String] {
        [
            "",
            translated("Exit status:"),
            "  0  " + translated("the program took the URL"),
            "  1  " + translated("the command line is wrong"),
            "  2  " + translated("the file does not exist"),
            "  3  " + translated("there is no program to open it with"),
            "  4  " + translated("it was not opened"),
            "",
            translated("This xdg-open belongs to openurl; openurl(1) says more."),
        ]
    }
}

extension CommandFailure {
    /// Whether no router can have got the URL.
    fileprivate var isWithoutRouter: Bool {
        ["org.freedesktop.DBus.Error.NoServer", .serviceUnknown, .nameHasNoOwner].contains(name) || name.isAboutStarting
    }
}
