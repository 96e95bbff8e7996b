internal import OpenURLBus
internal import RFC1808
internal import URLOpener

/// The ways in which a callback can arrive, decided before anything is opened.
struct CallbackPlan: Hashable {
    /// The user's wishes, from the command line.
    struct Wishes: Hashable {
        var pattern: CallbackPattern?
        var state: String?
        var isLoopback = false
        var isPaste = false
        /// Whether the user's browser is on another machine, because this is an SSH session without a display.
        var isRemote = false
    }

    /// The URL that leads to the callback.
    let url: GenericURL
    /// The URLs to claim; nil if the program's own server waits for the callback.
    let pattern: CallbackPattern?
    /// The address at which the program's own server waits, perhaps without a port; nil without a server.
    let served: GenericURL?
    /// The value that the callback must have as `state`; nil for any value.
    let state: String?
    /// Whether a line on standard input counts as the callback.
    let takesLines: Bool

    /// The server's address if the URL gives none.
    private static let usualAddress = "http://127.0.0.1/callback"

    /// - Throws: a failure if neither the URL nor the command line specifies the callback.
    init(_ url: GenericURL, _ wishes: Wishes) throws(CommandFailure) {
        self.url = url
        takesLines = wishes.isPaste || wishes.isRemote
        let parameters = FormParameters(url)
        state = wishes.state ?? parameters["state"]
        do throws(OpenURLError) {
            let redirect = parameters["redirect_uri"]
            var named = wishes.pattern
            if named == nil, redirect != nil { named = try CallbackPattern(redirectOf: url) }
            if wishes.isLoopback || named?.isLoopback == true || named == nil && wishes.isRemote {
                let address = named?.isLoopback == true ? wishes.pattern?.description ?? redirect : nil
                served = try Self.parse(address ?? Self.usualAddress)
                pattern = nil
            } else {
                served = nil
                if named == nil { named = try CallbackPattern(redirectOf: url) }
                pattern = named
            }
        } catch {
            throw CommandFailure(error)
        }
    }

    private static func parse(_ text: String) throws(OpenURLError) -> GenericURL {
        do throws(GenericURL.ParseError) {
            return try GenericURL(text)
        } catch {
            throw OpenURLError(.malformedURL, error.description)
        }
    }

    /// Returns whether a URL has the expected state.
    func hasState(of url: GenericURL) -> Bool {
        state == nil || FormParameters(url)["state"] == state
    }

    /// Returns whether a URL that did not come through the router is the callback.
    ///
    /// - Parameter redirect: the server's address; nil without a server.
    func isCallback(_ url: GenericURL, at redirect: GenericURL?) -> Bool {
        guard hasState(of: url) else { return false }
        guard let redirect else { return pattern?.matches(url) ?? false }
        return url.lowercasedScheme == "http"
            && url.networkLocation?.lowercased() == redirect.networkLocation?.lowercased()
            && url.path == redirect.path
    }
}
