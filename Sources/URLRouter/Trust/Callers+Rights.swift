internal import DBus
internal import OpenURLBus
internal import SchemeRegistry

/// Checks a caller's rights, in one place and before any method runs.
extension Callers {
    /// Checks that a caller may use a method.
    ///
    /// - Throws: `notAllowed`, with the same message for every argument.
    func check(_ caller: BusName?, of method: MemberName, _ interface: InterfaceName) async throws(OpenURLError) {
        guard let rights = Rights.table[interface]?[method] else {
            throw OpenURLError(.notAllowed, "\(interface).\(method) may not be called")
        }
        let callerClass = await confirmedCaller(caller).callerClass
        guard rights[callerClass] == .no else { return }
        throw OpenURLError(.notAllowed, "\(callerClass.words) may not call \(interface).\(method)")
    }

    /// Checks that a caller may do something to a handler: one of the user's own programs may, but any other program
    /// may do so only if it is the handler itself.
    ///
    /// - Throws: `notAllowed`, no matter whether the handler exists.
    func check(_ caller: BusName?, for id: String) async throws(OpenURLError) {
        guard let own = await ownIdentifier(of: caller) else { return }
        guard id == own, !own.isEmpty else {
            throw OpenURLError(.notAllowed, "\(own.isEmpty ? "this program" : own) may do this only to itself")
        }
    }

    /// Checks that a caller may act as a handler: one of the user's own programs may, but any other program only if it is
    /// the handler's process. Any program can make a sandbox with the handler's identifier.
    ///
    /// - Throws: `notAllowed`, no matter whether the handler exists.
    func check(_ caller: BusName?, actingAs id: String) async throws(OpenURLError) {
        guard let own = await ownHandler(of: caller) else { return }
        guard id == own, !own.isEmpty else {
            throw OpenURLError(
                .notAllowed,
                "\(own.isEmpty ? "this program" : own) may do this only as the handler itself"
            )
        }
    }

    /// Returns the identifier of the handler that a caller names, if the caller may do something to it.
    ///
    /// - Throws: `InvalidArgs` for a text that is no identifier, and `notAllowed`.
    func identifier(_ text: String, for caller: BusName?) async throws -> BundleIdentifier {
        let id = try BundleIdentifier(argument: text)
        try await check(caller, for: text)
        return id
    }

    /// Returns the identifier of the handler that a caller names, if the caller may act as it.
    ///
    /// - Throws: `InvalidArgs` for a text that is no identifier, and `notAllowed`.
    func identifier(_ text: String, actingAs caller: BusName?) async throws -> BundleIdentifier {
        let id = try BundleIdentifier(argument: text)
        try await check(caller, actingAs: text)
        return id
    }

    /// Returns the handler to which a caller's rights are limited if the caller acts as one; nil for one of the user's
    /// programs. It is empty for a program that is no handler.
    func ownHandler(of name: BusName?) async -> String? {
        let caller = await self.caller(name)
        if caller.callerClass == .user { return nil }
        // The user may have started the handler, whose process the router knows by the owner of the handler's name.
        let session = caller.session ?? name.flatMap(sessions.session(ofConnection:))
        return session?.handler.id.rawValue ?? ""
    }

    /// Returns the identifier to which a caller's rights are limited; nil for one of the user's programs, whose rights
    /// have no such limit. It is empty for a program without an identifier, which owns nothing.
    func ownIdentifier(of caller: BusName?) async -> String? {
        let caller = await self.caller(caller)
        return caller.callerClass == .user ? nil : caller.source.application ?? ""
    }
}

extension CallerClass {
    /// The class in words, for the beginning of a sentence.
    fileprivate var words: String {
        switch self {
        case .handler: "a handler"
        case .user: "one of the user's programs"
        case .sandboxed: "a program in a sandbox"
        case .remote: "a program on another host"
        case .unknown: "an unknown program"
        }
    }
}
