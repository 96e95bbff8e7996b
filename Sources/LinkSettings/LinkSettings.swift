internal import Desktop
internal import FoundationEssentials
internal import Links
internal import SchemeRegistry
internal import Translations
internal import UserFiles

/// The work of `openurl links` and `openurl default --all-links`.
///
/// It is not part of the `openurl` command, which would then take longer to start. Instead, the command continues as the
/// router's program, as it does for the doctor. It needs neither a bus nor a router.
public struct LinkSettings: Sendable, Hashable {
    private enum Action: Sendable, Hashable {
        case list
        case take
        case giveBack
    }

    private var action = Action.list
    private var printsJSON = false

    /// The result of a run.
    public struct Outcome: Sendable, Hashable {
        /// The text to print.
        public let text: String
        /// Whether the text is a message about a failure.
        public let isFailure: Bool
    }

    /// Reads the arguments after `--links`; nil if they are invalid.
    public init?(_ arguments: some Sequence<String>) {
        for argument in arguments {
            switch argument {
            case "--json": printsJSON = true
            case "--take": action = .take
            case "--give-back": action = .giveBack
            default: return nil
            }
        }
    }

    /// Lists the rules, or changes the desktop's default.
    ///
    /// - Parameters:
    ///   - environment: the variables of this process.
    ///   - handlers: the directory of the handlers that are installed for all users; nil if it is unknown.
    ///   - chooser: the path of `openurl-chooser`, which may be missing; nil if it is unknown.
    public func run(environment: [String: String], handlers: String?, chooser: String?) -> Outcome {
        if printsJSON { keepTextsInEnglish() }
        do throws(AllLinks.Failure) {
            switch action {
            case .list: return list(environment, handlers, chooser)
            case .take:
                let browser = try AllLinks(environment: environment).take()
                return printsJSON
                    ? Self.json(["browser": browser]) : Outcome(text: Self.taken(browser), isFailure: false)
            case .giveBack:
                let isAsBefore = try AllLinks(environment: environment).giveBack()
                let text =
                    isAsBefore
                    ? translated("mimeapps.list is as it was before.")
                    : translated("mimeapps.list has changed since, so only openurl was taken out of it.")
                return Outcome(text: printsJSON ? "{\"restored\":\(isAsBefore)}\n" : "\(text)\n", isFailure: false)
            }
        } catch {
            return Outcome(text: "openurl: \(printableLine(error.words))\n", isFailure: true)
        }
    }

    private static func taken(_ browser: String?) -> String {
        let text =
            browser.map {
                translated("All links now go through openurl, and to \(printableLine($0)) where no rule decides.")
            } ?? translated("All links now go through openurl, but no browser is installed that could open them.")
        return "\(text)\n"
    }

    private static func json(_ value: some Encodable) -> Outcome {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            let text = String(decoding: try encoder.encode(value), as: UTF8.self)
            return Outcome(text: text + "\n", isFailure: false)
        } catch {
            return Outcome(text: "openurl: \(error)\n", isFailure: true)
        }
    }

    private func list(_ environment: [String: String], _ handlers: String?, _ chooser: String?) -> Outcome {
        let desktop = DesktopDirectories(environment: environment)
        var loader = RegistryLoader(
            RegistryDirectories(environment: environment, additional: handlers),
            services: DBusServiceNames(in: desktop.serviceDirectories)
        )
        _ = loader.update()
        var registry = loader.registry
        registry.applications = DesktopApplications(loading: desktop)
        let overview = LinkOverview(environment: environment, registry: registry, chooser: chooser)
        return printsJSON ? Self.json(overview) : Outcome(text: overview.text, isFailure: false)
    }
}

extension AllLinks.Failure {
    fileprivate var words: String {
        switch self {
        case .notInstalled:
            translated("\(AllLinks.entry) is in no directory of XDG_DATA_DIRS, so the desktop cannot call openurl")
        case .notChosen: translated("openurl was not chosen for all links with 'openurl default --all-links'")
        case .file(let error): error.description
        }
    }
}

extension LinkOverview {
    /// The overview for people to read.
    var text: String {
        var parts: [String] = []
        func add(_ title: String, _ lines: [String], none: String) {
            let body = lines.isEmpty ? [none] : lines
            parts.append(([title] + body.map { "  \($0)" }).joined(separator: "\n"))
        }
        add(
            translated("Rules"),
            rules.map { "\($0.file):\($0.line)  \($0.rule)" },
            none: translated("none; every link goes to the default browser")
        )
        let defaults = AllLinks.schemes.map { scheme in
            "\(scheme)  \(self.defaults[scheme].map(printableLine) ?? translated("no program"))"
        }
        add(translated("Defaults of the desktop"), defaults, none: "")
        let browsers = browsers.flatMap { browser in
            [browser.id]
                + browser.profiles.map { profile in
                    let containers =
                        profile.containers.isEmpty ? "" : "  (\(profile.containers.joined(separator: ", ")))"
                    return "  \(LinkTarget.quoted(profile.name))\(profile.usual ? " *" : "")\(containers)"
                }
        }
        add(translated("Browsers and profiles"), browsers, none: translated("none"))
        if !problems.isEmpty {
            let lines = problems.map { "\($0.file)\($0.line.map { ":\($0)" } ?? ""): \($0.problem)" }
            add(translated("Problems"), lines, none: "")
        }
        return parts.joined(separator: "\n\n") + "\n"
    }
}
