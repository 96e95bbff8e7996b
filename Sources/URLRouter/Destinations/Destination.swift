internal import Desktop
internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry
internal import UserFiles

/// A URL together with the handler or application that gets it.
struct Destination: Sendable {
    let url: GenericURL
    /// The URL for the claimant. It may contain a call's secrets, so questions and messages show ``url`` instead.
    var delivered: GenericURL {
        get { replacement?.url ?? url }
        set { replacement = Replacement(newValue) }
    }

    /// The URL that replaces ``url`` on delivery. It is a class in order to save memory: thousands of URLs may wait,
    /// and few of them belong to calls.
    private final class Replacement: Sendable {
        let url: GenericURL

        init(_ url: GenericURL) { self.url = url }
    }

    private var replacement: Replacement?
    /// A handler with a program, or an application.
    let claimant: Claimant
    /// The way in which a rule for links opens the URL; nil if no rule has chosen the claimant.
    private(set) var manner: LinkManner?

    /// Whether a handler gets the URL only because of a proof. Otherwise, the browser would get it.
    let isProven: Bool

    /// Type of the file that the URL refers to; nil for any other URL.
    let file: FileKind?
    /// Whether the URL refers to a copy in its handler's inbox. Such a copy belongs to the handler, no matter who sent
    /// it.
    let isInInbox: Bool

    /// Finds out who gets a URL.
    ///
    /// - Parameters:
    ///   - options: the sender's options, which may ask for a claimant.
    ///   - file: the type of the file that the URL refers to; nil for any other URL.
    ///   - isInInbox: whether the URL refers to a copy that the router has made in the inbox of the requested handler.
    /// - Throws: `malformedURL` for a URL without a scheme, `noHandler` if nothing claims the URL.
    init(
        _ url: GenericURL,
        in registry: Registry,
        for options: OpenOptions = OpenOptions(),
        file: FileKind? = nil,
        isInInbox: Bool = false
    ) throws(OpenURLError) {
        self.url = url
        self.file = file
        self.isInInbox = isInInbox
        isProven = false
        let scheme = try Scheme(ofURL: url)
        let host = url.host.map(String.init)
        let winner: Claimant
        if let wanted = registry.claimant(wantedBy: options, for: url, file) {
            let candidates = try registry.candidates(for: url, file, options)
            guard let candidate = candidates.first(where: { $0.claimant.id == wanted }) else {
                if !registry.mayHave(wanted) { throw OpenURLError(unknownHandler: wanted) }
                let kind = file.map { "files of the type \($0.type)" } ?? "this \(scheme): URL"
                throw OpenURLError(
                    .noHandler,
                    "\(wanted) does not claim \(kind); 'openurl list' shows the handlers that do"
                )
            }
            winner = candidate.claimant
        } else if let file {
            guard let first = registry.winner(for: file) else { throw OpenURLError(noHandlerFor: file) }
            winner = first
        } else {
            guard let first = registry.winner(for: scheme, host: host) else {
                throw OpenURLError(noHandlerFor: scheme, host, in: registry)
            }
            winner = first
        }
        guard case .handler(let handler) = winner, handler.program == nil else {
            claimant = winner
            return
        }
        do throws(NoApplication) {
            claimant = .application(try registry.application(for: scheme))
        } catch {
            throw OpenURLError(.noHandler, "\(error)")
        }
    }

    /// Creates the destination that a rule for links has chosen.
    init(_ url: GenericURL, for claimant: Claimant, _ manner: LinkManner?) {
        self.url = url
        self.claimant = claimant
        self.manner = manner
        file = nil
        isInInbox = false
        isProven = false
    }

    /// Creates the destination of a link that goes to a handler instead of the browser.
    init(_ url: GenericURL, provenFor handler: Handler) {
        self.url = url
        claimant = .handler(handler)
        file = nil
        isInInbox = false
        isProven = true
    }

    /// Creates the destination of a copy that has yet to be made for a handler. The file's type is not known yet.
    init(_ url: GenericURL, toCopyFor handler: Handler) {
        self.url = url
        claimant = .handler(handler)
        file = nil
        isInInbox = true
        isProven = false
    }
}

extension Registry {
    /// Returns whether an identifier is that of a handler, or may be that of an application, which need not be registered.
    func mayHave(_ id: String) -> Bool { id.hasSuffix(".desktop") || handler(named: id) != nil }

    /// Returns every candidate for a sender's URL.
    func candidates(
        for url: GenericURL,
        _ file: FileKind?,
        _ options: OpenOptions
    ) throws(OpenURLError) -> [Candidate] {
        let wanted = claimant(wantedBy: options, for: url, file)
        guard let file else {
            return candidates(for: try Scheme(ofURL: url), host: url.host.map(String.init), asking: wanted)
        }
        let picked = options.handler == nil ? options.desktopEntry.flatMap { handlerPicked(by: $0, for: file) } : nil
        return candidates(for: file, asking: wanted, picked: picked)
    }

    /// Returns the claimant that the sender's options ask for, or that the user has picked on the desktop.
    func claimant(wantedBy options: OpenOptions, for url: GenericURL, _ file: FileKind?) -> String? {
        if let handler = options.handler { return handler }
        guard let entry = options.desktopEntry else { return nil }
        if let file, let picked = handlerPicked(by: entry, for: file) { return picked.id.rawValue }
        guard let scheme = SchemeRegistry.Scheme(of: url) else { return nil }
        return handlerPicked(by: entry, for: scheme, host: url.host.map(String.init))
    }
}

extension Registry {
    /// Returns the handlers that may refuse a sender if a claimant gets the URL: the claimant itself and, if an
    /// application has a handler's name, the handler that gets the URL because it owns this name on the bus.
    func receivers(of claimant: Claimant) -> [Handler] {
        var receivers = claimant.handler.map { [$0] } ?? []
        if let application = application(of: claimant), application.isDBusActivatable,
            let named = application.busName.flatMap(handler(named:)), named.id != claimant.handler?.id
        {
            receivers.append(named)
        }
        return receivers
    }

    /// Returns the desktop entry of the application that gets a claimant's URLs; nil for a handler with its own
    /// program.
    func application(of claimant: Claimant) -> DesktopEntry? {
        switch claimant {
        case .application(let entry): entry
        case .handler(let handler): handler.desktopEntry.flatMap { applications[$0] }
        }
    }
}

extension GenericURL {
    /// Parses a caller's URL. If a desktop passes it on, as KDE does, it may have been decoded for display.
    ///
    /// - Parameter desktopEntry: the desktop entry that passed on the URL; nil if none did.
    init(ofCaller text: String, desktopEntry: String? = nil) throws(OpenURLError) {
        do throws(ParseError) {
            try self.init(desktopEntry == nil ? text : Self.escapingForbiddenBytes(in: text.utf8))
        } catch {
            let code: OpenURLError.Code = error.reason == .tooLong ? .limitsExceeded : .malformedURL
            throw OpenURLError(code, "\(error)")
        }
    }
}

extension Scheme {
    /// Returns the scheme of a URL.
    init(ofURL url: GenericURL) throws(OpenURLError) {
        guard let text = url.lowercasedScheme else {
            throw OpenURLError(
                .malformedURL,
                "at byte offset 0: the URL has no scheme; it must start with one, as in todolist:"
            )
        }
        do throws(ParseError) {
            try self.init(text)
        } catch {
            throw OpenURLError(.noHandler, "no handler can claim the scheme: it \(error)")
        }
    }
}

extension OpenURLError {
    /// Creates the error for an identifier that no handler has.
    init(unknownHandler id: String) {
        self.init(.noHandler, "no handler is registered as \(printable(id)); 'openurl list' shows all that are")
    }

    /// Creates the error for an identifier that no handler with a program has. It may be that of an application.
    init(noProcessOf id: BundleIdentifier, in registry: Registry) {
        let schemes = DesktopFileID(rawValue: id.rawValue).map(registry.applications.schemes(of:)) ?? []
        if registry[id] == nil, schemes.isEmpty {
            self.init(unknownHandler: id.rawValue)
        } else {
            self.init(.noHandler, "\(id) has no process of its own: an application of the desktop opens its URLs")
        }
    }

    fileprivate init(noHandlerFor file: FileKind) {
        self.init(
            .noHandler,
            "no handler claims files of the type \(file.type); a manifest claims them with CFBundleDocumentTypes, and a desktop "
                + "entry with MimeType"
        )
    }

    fileprivate init(noHandlerFor scheme: Scheme, _ host: String?, in registry: Registry) {
        guard registry.claimants(of: scheme).isEmpty else {
            self.init(
                .noHandler,
                "no handler claims \(scheme): for the host '\(host ?? "")'; 'openurl list' shows the handlers"
            )
            return
        }
        if let file = registry.brokenManifests[scheme] {
            // If there is a problem with the whole file, no other problem needs to be reported.
            let problem = registry.diagnostics.first { $0.file == file && $0.severity == .error && $0.key == nil }
            let fact =
                problem.map { "but \($0.reason)" }
                ?? "but has errors, which 'openurl check \(quotedForShell(file))' shows"
            self.init(.noHandler, "no handler claims the scheme \(scheme); \(printable(file)) claims it, \(fact)")
            return
        }
        self.init(
            .noHandler,
            "no handler claims the scheme \(scheme); register one with 'openurl register PATH'"
        )
    }
}
