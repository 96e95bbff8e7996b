internal import Desktop
internal import Glibc
internal import Links
package import SchemeRegistry
internal import UserFiles

/// The rules for links, the browsers' profiles, and everything that is wrong with them.
package struct LinkOverview: Sendable, Encodable {
    /// A rule and its place.
    package struct Rule: Sendable, Encodable {
        package let file: String
        package let line: Int
        package let rule: String
        /// Whether the rule is the administrator's.
        package let administrator: Bool
    }

    /// A browser that opens links.
    package struct Browser: Sendable, Encodable {
        package let id: String
        package let name: String
        package let profiles: [Profile]
    }

    /// A browser's profile.
    package struct Profile: Sendable, Encodable {
        package let id: String
        package let name: String
        package let usual: Bool
        package let containers: [String]
    }

    /// Something that is wrong with a file.
    package struct Problem: Sendable, Hashable, Encodable {
        package let file: String
        package let line: Int?
        package let problem: String
    }

    /// The entries that the desktop uses for `http` and `https`.
    package let defaults: [String: String]
    package let rules: [Rule]
    package let browsers: [Browser]
    package let problems: [Problem]

    /// Reads all files. Blocks while it reads.
    ///
    /// - Parameters:
    ///   - registry: the handlers and the applications.
    ///   - chooser: the path of `openurl-chooser`, which may be missing; nil if it is unknown.
    package init(environment: [String: String], registry: Registry, chooser: String?) {
        let (found, diagnostics) = LinkFiles(environment: environment).read()
        var problems = diagnostics.map(Problem.init)
        rules = found.rules.map {
            Rule(
                file: printableLine($0.file),
                line: $0.line,
                rule: printableLine($0.text),
                administrator: !$0.isUsers
            )
        }
        var profiles: [DesktopFileID: [BrowserProfile]] = [:]
        var browsers: [Browser] = []
        let claiming = AllLinks.schemes.compactMap(Scheme.init(checkedText:)).flatMap(registry.applications.claiming)
        for entry in claiming where profiles[entry.id] == nil {
            let (read, diagnostics) =
                Links.Browser(entry, environment: environment)?.profiles() ?? ([], [])
            profiles[entry.id] = read
            problems += diagnostics.map(Problem.init)
            browsers.append(
                Browser(
                    id: printableLine(entry.id.rawValue),
                    name: printableLine(entry.name),
                    profiles: read.map {
                        Profile(id: $0.id, name: $0.name, usual: $0.isUsual, containers: $0.containers)
                    }
                )
            )
        }
        let hasChooser = chooser.map { access($0, X_OK) == 0 } ?? false
        for rule in found.rules {
            guard case .open(let target) = rule.action,
                let reason = Self.problem(target, registry, environment, hasChooser, &profiles)
            else { continue }
            problems.append(Problem(file: printableLine(rule.file), line: rule.line, problem: reason))
        }
        self.browsers = browsers
        self.problems = problems
        defaults = AllLinks(environment: environment).current
    }

    /// Returns why a rule's program cannot open a link; nil if it can.
    private static func problem(
        _ target: LinkTarget,
        _ registry: Registry,
        _ environment: [String: String],
        _ hasChooser: Bool,
        _ profiles: inout [DesktopFileID: [BrowserProfile]]
    ) -> String? {
        if target.program == .chooser, !hasChooser {
            return "openurl-chooser is not installed; the default browser opens the links"
        }
        guard case .named(let name) = target.program, registry.handler(named: name) == nil else { return nil }
        guard let entry = registry.applications.application(calledInRule: name) else {
            return "there is no program called \(printable(name)); the default browser opens the links"
        }
        if target.isPrivate, entry.privateWindowCommand == nil {
            return "\(entry.id) has no action new-private-window; the default browser opens the links"
        }
        guard target.profile != nil || target.container != nil else { return nil }
        let read = profiles[entry.id] ?? Links.Browser(entry, environment: environment)?.profiles().profiles ?? []
        profiles[entry.id] = read
        var profile = read.first { $0.isUsual } ?? read.first
        if let name = target.profile {
            profile = read.named(name)
            if profile == nil {
                return "\(entry.id) has no profile called \(printable(name)); the default browser opens the links"
            }
        }
        guard let name = target.container else { return nil }
        guard let profile, profile.containers.contains(name) else {
            return "\(entry.id) has no container called \(printable(name)); the default browser opens the links"
        }
        return profile.opensContainers
            ? nil
            : "the profile \(printable(profile.name)) lacks the add-on 'Open external links in a container'; the default "
                + "browser opens the links"
    }
}

extension LinkOverview.Problem {
    fileprivate init(_ diagnostic: Diagnostic) {
        let words = diagnostic.key?.split(separator: " ") ?? []
        let line = words.count == 2 && words[0] == "line" ? Int(words[1]) : diagnostic.line
        self.init(
            file: printableLine(diagnostic.file),
            line: line,
            problem: line == nil
                ? [diagnostic.key, diagnostic.reason].compactMap(\.self).joined(separator: " ")
                : diagnostic.reason
        )
    }
}

extension Scheme {
    /// Creates a scheme; nil if the text is not one.
    init?(checkedText text: String) {
        do throws(ParseError) {
            try self.init(text)
        } catch {
            return nil
        }
    }
}
