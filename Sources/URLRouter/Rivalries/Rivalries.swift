internal import Desktop
internal import SchemeRegistry

/// Describes the other claimants of a handler's schemes and files to the person who registers, checks or lists the
/// handler.
struct Rivalries {
    private let handler: Handler
    private let registry: Registry

    /// Number of schemes, or of claimants of one scheme, that the sentences list.
    private static let namedRivals = 16
    /// Number of types that a sentence about files lists.
    private static let namedTypes = 3

    init(of handler: Handler, in registry: Registry) {
        self.handler = handler
        self.registry = registry
    }

    /// One sentence for each claim that stands in the way of a handler that is not registered yet. If it is already
    /// registered, there are none.
    var expected: [String] {
        guard registry[handler.id]?.path != handler.path else { return [] }
        let other = registry[handler.id].map {
            "\(handler.id) is registered already, as \($0.path); 'openurl register --replace' puts this one in its place"
        }
        return [other].compactMap { $0 }
            + handler.schemes.compactMap { scheme in
                guard let winner = winner(insteadOfHandlerFor: scheme) else { return nil }
                return
                    "\(scheme): \(winner) already has the scheme, and keeps it until 'openurl default' says otherwise"
            }
    }

    /// One sentence for each of the handler's schemes that others claim too, one more if there are too many schemes to
    /// list, and the sentences about files.
    var all: [String] {
        let sentences = handler.schemes.compactMap(sentence(about:))
        let rest = sentences.count - Self.namedRivals
        return sentences.prefix(Self.namedRivals)
            + (rest > 0 ? ["others claim \(rest) more schemes of this handler"] : []) + files
    }

    /// One sentence for each of a temporarily registered handler's schemes that goes to another claimant.
    var lost: [String] {
        handler.schemes.compactMap { scheme in
            winner(insteadOfHandlerFor: scheme).map {
                "\(scheme): goes to \($0); 'openurl --handler \(handler.id) URL' opens a URL with this handler"
            }
        }
    }

    /// Returns the claimant that gets the URLs with a scheme; nil if that is the handler itself, or if there is none.
    private func winner(insteadOfHandlerFor scheme: Scheme) -> String? {
        registry.claimants(of: scheme).first.flatMap { $0 == handler.id.rawValue ? nil : $0 }
    }

    private func sentence(about scheme: Scheme) -> String? {
        let claimants = registry.claimants(of: scheme)
        guard claimants.count > 1 else { return nil }
        let rivals = claimants.dropFirst()
        let rest = rivals.count - Self.namedRivals
        let named = rivals.prefix(Self.namedRivals).joined(separator: ", ")
        let others = "\(named)\(rest > 0 ? " and \(rest) more" : "") \(claimants.count > 2 ? "claim" : "claims")"
        let sentence = "\(scheme): goes to \(claimants[0]); \(others) it too"
        guard claimants[0] != handler.id.rawValue else { return sentence }
        if registry.runningClaimant(of: scheme) != nil { return "\(sentence); the claim ends with its program" }
        if handler.isTemporary { return sentence }
        return "\(sentence); 'openurl default \(scheme) \(handler.id)' chooses this handler"
    }

    /// One sentence for each claimant that gets files of the handler's types instead of the handler.
    private var files: [String] {
        var types: [String: [MimeType]] = [:]
        for type in handler.fileTypes {
            let file = FileKind(FileTypeGuess(type: type, isByName: true), name: "")
            guard let winner = registry.winner(for: file), winner.id != handler.id.rawValue else { continue }
            types[winner.id, default: []].append(type)
        }
        return types.sorted { $0.key < $1.key }.map { winner, types in
            let rest = types.count - Self.namedTypes
            let named = types.prefix(Self.namedTypes).map(\.rawValue).joined(separator: ", ")
            let choice = "'openurl default \(types[0]) \(handler.id)' chooses this handler"
            return "files of \(named)\(rest > 0 ? " and \(rest) more types" : "") go to \(winner); \(choice)"
        }
    }
}
