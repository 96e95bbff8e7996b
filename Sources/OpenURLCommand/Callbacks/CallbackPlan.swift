internal import OpenURLBus
internal import RFC1808
internal import URLOpener

/// The ways on which a callback can come, decided before anything is opened.
struct CallbackPlan: Hashable {
    /// The wishes of the command line.
    struct Wishes: Hashable {
        var pattern: CallbackPattern?
        var state: String?
        var isLoopback = false
        var isPaste = false
        /// Whether the program runs on another machine than the person's browser: in a session of SSH without a display.
        var isRemote = false
    }

    /// The URL that leads to the callback.
    let url: GenericURL
    /// The URLs that the program claims; nil if a server of the program waits.
    let pattern: CallbackPattern?
    /// The address at which a server of the program waits, perhaps without a port; nil without a server.
    let served: GenericURL?
    /// The value that the callback has to bring as `state`; nil for every value.
    let state: String?
    /// Whether a line on standard input counts as the callback.
    let takesLines: Bool

    /// The address of a server if the URL names none.
    private static let usualAddress = "http://127.0.0.1/callback"

    /// - Throws: a failure if the URL does not name the callback, and no wish does.
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

    /// Returns whether a URL brings the state that is waited for.
    func hasState(of url: GenericURL) -> Bool {
        state == nil || FormParameters(url)["state"] == state
    }

    /// Returns whether a URL that did not come through the router is the callback.
    ///
    /// - Parameter redirect: the address of the server; nil without a server.
    func isCallback(_ url: GenericURL, at redirect: GenericURL?) -> Bool {
        guard hasState(of: url) else { return false }
        guard let redirect else { return pattern?.matches(url) ?? false }
        return url.lowercasedScheme == "http"
            && url.networkLocation?.lowercased() == redirect.networkLocation?.lowercased()
            && url.path == redirect.path
    }
}
