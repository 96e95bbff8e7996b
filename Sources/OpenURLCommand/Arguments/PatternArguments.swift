internal import ArgumentParser
internal import Translations
internal import URLOpener

/// A rule's source and URLs on a command line.
struct PatternArguments: ParsableArguments {
    @Option(
        help: .init(translated("The callers: an identifier, a class, host:NAME, container:NAME, app:NAME, or '*'.")),
        completion: .sources,
        transform: CommandLineArgument.requiredText
    )
    var source = "*"

    @OptionGroup var outputOptions: OutputOptions

    @Argument(
        help: .init(translated("The URLs: SCHEME, SCHEME://HOST, or '*'."), valueName: "urls"),
        completion: .schemes,
        transform: CommandLineArgument.requiredText
    )
    var urls: String

    /// The source, the scheme and the host, in this order.
    var parts: (String, String, String) {
        let (scheme, host) = split(urls: urls)
        return (source, scheme, host)
    }

    /// If the command prints JSON, prints the pattern and the given members.
    func report(_ members: [(name: String, value: JSON)], _ invocation: Invocation) {
        guard outputOptions.json else { return }
        let (source, scheme, host) = parts
        let pattern: [(name: String, value: JSON)] = [
            ("source", .string(source)), ("scheme", .string(scheme)), ("host", host.isEmpty ? .null : .string(host)),
        ]
        invocation.output.print(JSON.object(pattern + members).text)
    }
}

/// An optional source and optional URLs, for a command that can also apply to all rules or answers.
struct OptionalPatternArguments: ParsableArguments {
    @Option(
        help: .init(translated("The callers: an identifier, a class, host:NAME, container:NAME, app:NAME, or '*'.")),
        completion: .sources,
        transform: CommandLineArgument.requiredText
    )
    var source: String?

    @OptionGroup var outputOptions: OutputOptions

    @Argument(
        help: .init(translated("The URLs: SCHEME, SCHEME://HOST, or '*'."), valueName: "urls"),
        completion: .schemes,
        transform: CommandLineArgument.requiredText
    )
    var urls: String?

    /// Checks that a command line has either `--all` or a pattern.
    func validate(all: Bool) throws {
        if all, source != nil || urls != nil { throw ValidationError(translated("use --all without a source or URLs")) }
        if !all, source == nil, urls == nil {
            throw ValidationError(translated("give the URLs or the source, or use --all"))
        }
    }

    /// Returns the source, the scheme and the host.
    ///
    /// - Parameter everySource: stands for a source or scheme that the command line leaves out.
    func parts(everySource: String) -> (String, String, String) {
        guard let urls else { return (source ?? everySource, everySource, "") }
        let (scheme, host) = split(urls: urls)
        return (source ?? everySource, scheme, host)
    }

    /// If the command prints JSON, prints the pattern of a rule. If the command is about all rules, each part is null.
    func reportRule(all: Bool, _ invocation: Invocation) {
        guard outputOptions.json else { return }
        let (source, scheme, host) = parts(everySource: "*")
        let pattern: [(name: String, value: JSON)] = [
            ("source", all ? .null : .string(source)), ("scheme", all ? .null : .string(scheme)),
            ("host", host.isEmpty ? .null : .string(host)),
        ]
        invocation.output.print(JSON.object(pattern).text)
    }
}

/// Splits `SCHEME`, `SCHEME:` or `SCHEME://HOST`. The router checks both parts.
private func split(urls: String) -> (scheme: String, host: String) {
    if let mark = urls.firstRange(of: "://") {
        return (String(urls[..<mark.lowerBound]), String(urls[mark.upperBound...]))
    }
    return (urls.hasSuffix(":") ? String(urls.dropLast()) : urls, "")
}
