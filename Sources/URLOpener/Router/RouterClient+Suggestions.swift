internal import DBus
internal import OpenURLBus
internal import Spelling
internal import Translations

/// Suggestions for misspelt names. The router's errors contain none, because its callers may be confined.
extension RouterClient {
    private static let limit = Duration.seconds(2)

    /// Adds a suggestion to a failure to open a URL: the scheme that was probably meant.
    package func suggestingScheme(for url: String, _ failure: CommandFailure) -> CommandFailure {
        guard failure.name == OpenURLError.Code.noHandler.errorName, let colon = url.firstIndex(of: ":") else {
            return failure
        }
        return suggesting(insteadOf: String(url[..<colon]), ":", failure) { () throws(CommandFailure) in
            try call(RegistryInterface.listSchemes, Empty(), timeout: Self.limit).keys.sorted()
        }
    }

    /// Adds a suggestion to a failure to open a file: the URL that was probably meant, if the file has the name of a
    /// scheme that a handler claims.
    package func suggestingURL(for argument: CommandLineArgument, _ failure: CommandFailure) -> CommandFailure {
        let name = argument.shown
        guard failure.name == OpenURLError.Code.noHandler.errorName, !argument.hasScheme,
            claimant(ofScheme: name) != nil
        else { return failure }
        let message = translated(
            "'\(name)' is a file or folder here, and \(failure.message); to open a URL, write '\(name):'"
        )
        return CommandFailure(failure.name, message, exitStatus: failure.exitStatus)
    }

    /// Adds a suggestion to the failure of a request for a handler: the identifier that was probably meant, even if a
    /// scheme was given instead. If the handler's manifest cannot be used, the failure gives the reason.
    package func suggestingHandler(for id: String, _ failure: CommandFailure) -> CommandFailure {
        guard failure.name == OpenURLError.Code.noHandler.errorName else { return failure }
        if let claimant = claimant(ofScheme: id) {
            return CommandFailure(
                failure.name,
                asking(whether: claimant, failure.message),
                exitStatus: failure.exitStatus
            )
        }
        // The router would check the file at a path, and not a registered handler.
        if !id.contains("/"), let problem = problem(ofManifest: id) {
            return CommandFailure(
                failure.name,
                translated("\(id) cannot be used: \(problem)"),
                exitStatus: failure.exitStatus
            )
        }
        return suggesting(insteadOf: id, "", failure) { () throws(CommandFailure) in
            try call(RegistryInterface.listHandlers, Empty(), timeout: Self.limit).map(\.id)
        }
    }

    /// Checks that an identifier is that of a registered handler or application.
    ///
    /// - Throws: the failure for an unknown one, with the one that was probably meant.
    package func checkHandler(_ id: String) throws(CommandFailure) {
        guard try !call(RegistryInterface.listHandlers, Empty()).contains(where: { $0.id == id }) else { return }
        throw suggestingHandler(for: id, CommandFailure(unknownHandler: id))
    }

    /// Returns the handler that gets the URLs with a scheme, which may be given with its colon; nil if the text is not
    /// a scheme, or if only the desktop's applications claim it.
    private func claimant(ofScheme text: String) -> String? {
        let scheme = (text.hasSuffix(":") ? String(text.dropLast()) : text).lowercased()
        do throws(CommandFailure) {
            return try call(RegistryInterface.listSchemes, Empty(), timeout: Self.limit)[scheme]?
                .first { !$0.hasSuffix(".desktop") && $0 != text }
        } catch {
            return nil
        }
    }

    /// Adds a suggestion to the failure of a request with a URL: the handler's identifier that was probably meant if
    /// the request has one, and otherwise the scheme.
    package func suggestingName(for url: String, _ handler: String?, _ failure: CommandFailure) -> CommandFailure {
        handler.map { suggestingHandler(for: $0, failure) } ?? suggestingScheme(for: url, failure)
    }

    /// Returns the reason why the manifest with this identifier cannot be used; nil if there is no such manifest, or if
    /// it can be used.
    private func problem(ofManifest id: String) -> String? {
        do throws(CommandFailure) {
            let findings = try call(RegistryInterface.check, id, timeout: Self.limit)
            guard let error = findings.first(where: { $0.severity == .known(.error) }) else { return nil }
            return [error.file, error.key, error.message].compactMap(\.self).joined(separator: ": ")
        } catch {
            return nil
        }
    }

    private func suggesting(
        insteadOf word: String,
        _ suffix: String,
        _ failure: CommandFailure,
        _ words: () throws(CommandFailure) -> [String]
    ) -> CommandFailure {
        do throws(CommandFailure) {
            let known = try words()
            guard !known.contains(word), let near = word.nearest(in: known) else { return failure }
            return CommandFailure(
                failure.name,
                asking(whether: near + suffix, failure.message),
                exitStatus: failure.exitStatus
            )
        } catch {
            return failure
        }
    }
}
