internal import OpenURLBus
internal import RFC1808

/// A sign-in that ends at a server of the machine that opens the browser: RFC 8252 section 7.3.
struct SignIn {
    /// The address in the URL's `redirect_uri`.
    let redirect: GenericURL
    /// The value that the callback must have as `state`; nil for any value.
    let state: String?
    /// The port of the address; nil if the address leaves it open.
    var port: UInt16? { redirect.port }

    /// Finds the sign-in that ends at a server of the program that wants a URL opened; nil for every other request.
    init?(endingIn request: RelayRequest) {
        guard request.verb == .open, let signIn = SignIn(of: request.url), signIn.port != nil else { return nil }
        self = signIn
    }

    /// Finds the sign-in that a URL begins; nil for every other URL.
    init?(of url: GenericURL) {
        guard ["http", "https"].contains(url.lowercasedScheme) else { return nil }
        let parameters = FormParameters(url)
        guard let text = parameters["redirect_uri"] else { return nil }
        do throws(OpenURLError) {
            guard try CallbackPattern(text).isLoopback else { return nil }
        } catch {
            return nil
        }
        do throws(GenericURL.ParseError) {
            redirect = try GenericURL(text)
        } catch {
            return nil
        }
        state = parameters["state"]
    }
}
