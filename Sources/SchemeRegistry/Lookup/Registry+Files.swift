internal import Desktop

extension Registry {
    /// Returns the claimant that gets a file; `nil` if nothing claims it.
    ///
    /// As in GLib, claims on the scheme `file` come first. Then come the file's properties, one after another: its
    /// narrowest type, the extensions of its name, and its wider types. Within one property, the rules are the same as
    /// in ``winner(for:host:)``, with `LSHandlerRank` instead of the host.
    public func winner(for file: FileKind) -> Claimant? { claims(on: file).first?.claimant }

    /// Returns every candidate for a file, the winner first. A claimant that claims several properties appears once,
    /// with the narrowest.
    ///
    /// - Parameters:
    ///   - id: the claimant that the sender asks for, if any.
    ///   - picked: the handler that the user picked for the file, if any, as ``handlerPicked(by:for:)`` returns it. It
    ///     is a candidate even without a claim on the file.
    public func candidates(for file: FileKind, asking id: String? = nil, picked: Handler? = nil) -> [Candidate] {
        var claims = claims(on: file)
        if let picked, !claims.contains(where: { $0.claimant.id == picked.id.rawValue }) {
            claims.append(Claim(claimant: .handler(picked), host: nil, property: file.keys.count))
        }
        return candidates(of: claims, asking: id ?? picked?.id.rawValue)
    }

    private func claims(on file: FileKind) -> [Claim] {
        var claims = claims(for: Scheme.file, host: nil)
        for (position, key) in file.keys.enumerated() {
            let handlers = handlerClaims(on: key).map { handler, rank in
                Claim(claimant: .handler(handler), host: nil, rank: rank)
            }
            let ordered: [Claim]
            switch key {
            case .type(let type): ordered = inOrder(handlers[...], for: type.rawValue)
            // The desktop knows nothing about a handler's extensions.
            case .filenameExtension: ordered = handlers
            }
            claims += ordered.map {
                var claim = $0
                claim.property = position
                return claim
            }
        }
        var seen: Set<String> = []
        return claims.filter { seen.insert($0.claimant.id).inserted }
    }

    /// Returns the MIME types that a handler has taken from other claimants since an earlier registry, each with that
    /// claimant.
    func fileTypes(takenBy handler: Handler, from earlier: Registry) -> [(type: MimeType, claimant: Claimant)] {
        handler.fileTypes.compactMap { type in
            let file = FileKind(FileTypeGuess(type: type, isByName: true), name: "")
            guard winner(for: file)?.id == handler.id.rawValue, let before = earlier.winner(for: file),
                before.id != handler.id.rawValue, candidates(for: file).contains(where: { $0.claimant.id == before.id })
            else { return nil }
            return (type, before)
        }
    }
}

extension Scheme {
    /// The scheme for files on this machine.
    public static let file = Scheme(checked: "file")
}
