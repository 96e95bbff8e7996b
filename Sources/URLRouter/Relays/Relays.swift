internal import DBus
internal import OpenURLBus
internal import Policy
internal import RFC1808
internal import SchemeRegistry

/// Handles the requests that relays pass on for programs on other machines and in containers.
///
/// It belongs to the router's actor.
final class Relays {
    private let openCalls: OpenCalls
    private let callbackRequests: CallbackRequests
    private let destinations: Destinations
    private let permissions: Permissions

    init(
        _ openCalls: OpenCalls,
        _ callbackRequests: CallbackRequests,
        _ destinations: Destinations,
        _ permissions: Permissions
    ) {
        self.openCalls = openCalls
        self.callbackRequests = callbackRequests
        self.destinations = destinations
        self.permissions = permissions
    }

    /// Performs `OpenURL`.
    ///
    /// - Parameters:
    ///   - bytes: The size of the call's arguments.
    ///   - abandon: Makes the request's pending calls fail, once a cancelled request need not wait any longer.
    func openURL(
        _ source: String,
        _ url: String,
        _ asked: OpenOptions,
        caller: BusName?,
        bytes: Int,
        abandon: @escaping @Sendable () -> Void
    ) async throws -> OpenResult {
        var options = OpenOptions()
        options.handleToken = asked.handleToken
        options.timeout = asked.timeout
        options.activationToken = asked.activationToken
        let place = try OpenContext.Source(relayedFrom: source)
        try permissions.checkScheme(of: try GenericURL(ofCaller: url), from: place)
        return try await openCalls.openURL(
            url,
            options,
            caller: caller,
            bytes: bytes,
            relayed: place,
            abandon: abandon
        )
    }

    /// Performs `CanOpenURL`. Only for schemes that the program may open does the answer depend on what is installed.
    func canOpenURL(_ source: String, _ text: String) async throws -> Bool {
        let source = try OpenContext.Source(relayedFrom: source)
        let url = try GenericURL(ofCaller: text)
        guard let scheme = Scheme(of: url), scheme != .file, scheme != .reply else { return false }
        do throws(OpenURLError) {
            let destination = try await destinations.foreseen(text, OpenOptions(), from: Caller(source))
            try destination.claimant.handler?.checkAccess(of: nil, .remote)
            return permissions.verdict(on: destination, from: source).decision != .deny
        } catch {
            return false
        }
    }

    /// Performs `RequestCallback`.
    func requestCallback(
        _ source: String,
        _ text: String,
        _ asked: CallbackOptions,
        caller: BusName?
    ) async throws -> ObjectPath {
        let place = try OpenContext.Source(relayedFrom: source)
        let url = try GenericURL(ofCaller: text)
        guard let scheme = url.lowercasedScheme, ["http", "https"].contains(scheme) else {
            throw OpenURLError(.notAllowed, "a program on another machine can sign in only with an http or https URL")
        }
        guard let state = FormParameters(url)["state"], !state.isEmpty else {
            throw OpenURLError(
                .notAllowed,
                "the URL has no state=, without which the router cannot tell the callback from other URLs"
            )
        }
        var options = CallbackOptions()
        options.handleToken = asked.handleToken
        options.timeout = asked.timeout
        options.activationToken = asked.activationToken
        options.state = state
        return try await callbackRequests.request(text, "", options, caller: caller, relayed: place)
    }
}

extension OpenContext.Source {
    /// The machine or the container that the request comes from, as in a rule of the policy; nil for a program here.
    var place: String? { host.map { "host:\($0)" } ?? container.map { "container:\($0)" } }

    /// Creates the source of a request that a relay passes on.
    ///
    /// - Parameter text: `host:NAME` or `container:NAME`.
    /// - Throws: `InvalidArgs` for every other text.
    init(relayedFrom text: String) throws(RemoteError) {
        self.init()
        callerClass = .known(.remote)
        let place: PolicySource
        do throws(PolicySyntaxError) {
            place = try PolicySource(text)
        } catch {
            throw RemoteError(.invalidArguments, error.description)
        }
        switch place {
        case .host(let name): host = name
        case .container(let name): container = name
        case .every, .callers, .applications, .application:
            throw RemoteError(.invalidArguments, "a relay's source is host:NAME or container:NAME")
        }
    }
}
