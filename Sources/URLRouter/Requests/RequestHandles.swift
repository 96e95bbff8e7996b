internal import DBus
internal import OpenURLBus

/// Callers' current handles.
///
/// A handle is part of a request, and is counted together with it. The code that makes a handle removes it at the end.
/// This belongs to the router's actor.
final class RequestHandles {
    private struct Key: Hashable {
        let caller: BusName
        let token: HandleToken
    }

    private var handles: [Key: RequestHandle] = [:]

    /// The number of handles.
    var count: Int { handles.count }

    /// Makes a handle for a caller.
    ///
    /// - Throws: `InvalidArgs` if the caller has another handle with the token, or if the call did not come over a bus.
    func make(_ token: HandleToken, for caller: BusName?) throws(RemoteError) -> RequestHandle {
        guard let caller, caller.isUnique else {
            throw RemoteError(.invalidArguments, "only a connection to a bus can have a handle")
        }
        let key = Key(caller: caller, token: token)
        guard handles[key] == nil else {
            throw RemoteError(
                .invalidArguments,
                "the handle '\(token.rawValue)' is in use by a request that has no answer yet"
            )
        }
        let handle = RequestHandle(token, of: caller)
        handles[key] = handle
        return handle
    }

    /// Removes a handle, which frees its token.
    func remove(_ handle: RequestHandle) {
        handles[Key(caller: handle.owner, token: handle.token)] = nil
    }

    /// Returns the handle that a call refers to.
    ///
    /// - Throws: `notAllowed` if the path belongs to another caller, no matter whether there is a handle;
    ///   `UnknownObject` if it belongs to this caller but has no handle.
    func handle(at path: ObjectPath, for caller: BusName?) throws -> RequestHandle {
        guard let caller, let directory = RequestInterface.directory(of: caller), path.rawValue.hasPrefix(directory)
        else {
            throw OpenURLError(.notAllowed, "only the program that made a request may use its handle")
        }
        let token = HandleToken(rawValue: String(path.rawValue.dropFirst(directory.count)))
        guard let handle = token.flatMap({ handles[Key(caller: caller, token: $0)] }) else {
            throw RemoteError(.unknownObject, "there is no request \(path); it may already have its answer")
        }
        return handle
    }
}
