internal import CLinux
internal import Glibc
internal import Release
internal import SiteProofs
internal import WebLinks

/// Why the command line is wrong.
struct UsageError: Error {
    let reason: String
}

/// Reads the command line: options, a host, and the identifiers of apps.
func question(_ arguments: [String]) throws(UsageError) -> SiteQuestion {
    var options = Transfer.Options()
    var rest = arguments[...]
    while let option = rest.first, option.hasPrefix("--") {
        rest.removeFirst()
        if option == "--private" {
            options.allowsPrivateAddresses = true
            continue
        }
        guard let value = rest.popFirst() else { throw UsageError(reason: "\(option) needs a value") }
        switch option {
        case "--authorities": options.authorities = value
        case "--connect-to": options.connection = value
        case "--addresses": options.addresses = value
        case "--milliseconds":
            guard let number = Int(value), (1...20_000).contains(number) else {
                throw UsageError(reason: "--milliseconds is between 1 and 20000")
            }
            options.deadline = .now + .milliseconds(number)
        default: throw UsageError(reason: "the option \(option) is unknown")
        }
    }
    guard let text = rest.popFirst() else { throw UsageError(reason: "the host is missing") }
    guard (1...SiteAnswer.maximumApps).contains(rest.count) else {
        throw UsageError(reason: "give 1 to \(SiteAnswer.maximumApps) identifiers of apps")
    }
    do throws(WebHost.ParseError) {
        return SiteQuestion(try WebHost(text), about: Array(rest), options)
    } catch {
        throw UsageError(reason: "the host \(error)")
    }
}

/// Gives up what a program that reads strangers' files does not need.
func confine() {
    for (resource, value) in [(RLIMIT_CPU, 10), (RLIMIT_CORE, 0), (RLIMIT_AS, 1 << 30)] {
        var limit = rlimit(rlim_cur: rlim_t(value), rlim_max: rlim_t(value))
        setrlimit(__rlimit_resource_t(resource.rawValue), &limit)
    }
    _ = refuse_new_privileges()
    // The deadline ends every request before this. A name service may hang without one.
    alarm(25)
}

let arguments = Array(CommandLine.arguments.dropFirst())
if arguments == ["--version"] {
    print("openurl-proofs \(Version.current)")
    exit(0)
}
do throws(UsageError) {
    let question = try question(arguments)
    confine()
    print(question.ask().text, terminator: "")
} catch {
    let text = "openurl-proofs: \(error.reason)\nusage: openurl-proofs [--private] HOST ID...\n"
    _ = write(STDERR_FILENO, text, text.utf8.count)
    exit(64)
}
