internal import OpenURLBus
internal import RFC1808
internal import SchemeRegistry

/// A URL together with the handler or application that gets it.
struct Destination {
    let url: GenericURL
    /// A handler with a program, or an application.
    let claimant: Claimant

    /// Finds the destination of a URL.
    ///
    /// - Parameters:
    ///   - wanted: the claimant that the sender's options ask for; nil for the scheme's winner.
    /// - Throws: `malformedURL` for a URL without a scheme, `noHandler` if nothing claims the URL.
    init(_ url: GenericURL, in registry: Registry, wanted: String?) throws(OpenURLError) {
        self.url = url
        let scheme = try Scheme(ofURL: url)
        let host = url.host.map(String.init)
        let winner: Claimant
        if let wanted {
            let candidates = registry.candidates(for: scheme, host: host)
            guard let candidate = candidates.first(where: { $0.claimant.id == wanted }) else {
                throw OpenURLError(
                    .noHandler,
                    "\(wanted) does not claim \(scheme): here; 'openurl list' shows the handlers that do"
                )
            }
            winner = candidate.claimant
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
            throw OpenURLError(.noHandler, error.description)
        }
    }

    /// Parses a URL and finds the destination for a sender's options.
    ///
    /// - Throws: as ``init(_:in:wanted:)``, and `malformedURL` or `limitsExceeded` if the text is not a URL.
    init(_ text: String, in registry: Registry, for options: OpenOptions) throws(OpenURLError) {
        let url = try GenericURL(ofCaller: text, options)
        try self.init(url, in: registry, wanted: registry.claimant(wantedBy: options, for: url))
    }
}

extension Registry {
    /// Returns the claimant that the sender's options ask for, or that the user picked on the desktop.
    func claimant(wantedBy options: OpenOptions, for url: GenericURL) -> String? {
        if let handler = options.handler { return handler }
        guard let entry = options.desktopEntry, let scheme = SchemeRegistry.Scheme(of: url) else { return nil }
        return handlerPicked(by: entry, for: scheme, host: url.host.map(String.init))
    }
}

extension GenericURL {
    /// Parses a URL of a caller. A desktop may pass on a URL that it has decoded for display, as KDE does.
    init(ofCaller text: String, _ options: OpenOptions = OpenOptions()) throws(OpenURLError) {
        do throws(ParseError) {
            let isStrict = options.desktopEntry == nil
            try self.init(isStrict ? text : Self.escapingForbiddenBytes(in: text.utf8))
        } catch {
            let code: OpenURLError.Code = error.reason == .tooLong ? .limitsExceeded : .malformedURL
            throw OpenURLError(code, error.description)
        }
    }
}

extension Scheme {
    /// The scheme of a URL.
    init(ofURL url: GenericURL) throws(OpenURLError) {
        guard let text = url.lowercasedScheme else {
            throw OpenURLError(
                .malformedURL,
                "at byte offset 0: the URL has no scheme; it has to start with one, as in todolist:"
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
    fileprivate init(noHandlerFor scheme: Scheme, _ host: String?, in registry: Registry) {
        guard registry.claimants(of: scheme).isEmpty else {
            self.init(
                .noHandler,
                "no handler claims \(scheme): for the host '\(host ?? "")'; 'openurl list' shows the handlers"
            )
            return
        }
        self.init(
            .noHandler,
            "no handler claims the scheme \(scheme):; register one with 'openurl register PATH'"
        )
    }
}
