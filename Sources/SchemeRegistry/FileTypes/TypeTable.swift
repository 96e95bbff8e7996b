internal import Desktop

/// The meanings of type identifiers, both public ones and those that a manifest declares.
struct TypeTable {
    private var declarations: [TypeIdentifier: TypeDeclaration] = [:]
    /// For each type, the types that conform to it directly.
    private var narrower: [TypeIdentifier: [TypeIdentifier]] = [:]

    /// Creates a manifest's table. Public types keep their meaning, no matter what the manifest declares.
    init(declaring own: [TypeDeclaration] = []) {
        self = Self.public
        for declaration in own where Self.public.declarations[declaration.identifier] == nil { add(declaration) }
    }

    private init(of declarations: [TypeDeclaration]) {
        for declaration in declarations { add(declaration) }
    }

    private static let `public` = TypeTable(of: publicTypes)

    private mutating func add(_ declaration: TypeDeclaration) {
        // Two declarations of one type are merged, because a manifest may both export and import a type.
        declarations[declaration.identifier, default: TypeDeclaration(declaration.identifier)].merge(declaration)
        for wider in declaration.conformsTo { narrower[wider, default: []].append(declaration.identifier) }
    }

    /// Returns the properties of a type's files. If the type has none, returns those of all types that conform to it.
    ///
    /// - Returns: no property for an unknown type.
    func keys(of type: TypeIdentifier) -> [FileKey] {
        var keys: [FileKey] = []
        var seen: Set<TypeIdentifier> = [type]
        var next = [type]
        var position = 0
        while position < next.count {
            let type = next[position]
            position += 1
            let own = declarations[type]?.keys ?? []
            keys += own
            guard own.isEmpty else { continue }
            next += narrower[type, default: []].filter { seen.insert($0).inserted }
        }
        return keys
    }
}

extension TypeDeclaration {
    fileprivate mutating func merge(_ other: TypeDeclaration) {
        conformsTo += other.conformsTo
        mimeTypes += other.mimeTypes
        filenameExtensions += other.filenameExtensions
    }

    fileprivate var keys: [FileKey] { mimeTypes.map(FileKey.type) + filenameExtensions.map(FileKey.filenameExtension) }
}

extension DocumentType {
    /// Returns the properties of the files that the entry claims.
    fileprivate func keys(_ table: TypeTable) -> [FileKey] {
        contentTypes.flatMap(table.keys) + mimeTypes.map(FileKey.type)
            + filenameExtensions.map(FileKey.filenameExtension)
    }
}

extension HandlerManifest {
    /// Maximum number of claims on files in a manifest.
    static let maximumFileClaims = 1024
    /// Maximum size of all claims on files in a manifest, in bytes.
    static let maximumFileClaimBytes = 64 << 10

    /// Returns the claims made by the manifest's document types, in the manifest's order. Each property appears once,
    /// with its best rank.
    func resolvedFileClaims() -> [FileClaim] {
        let table = TypeTable(declaring: typeDeclarations)
        var claims: [FileClaim] = []
        var positions: [FileKey: Int] = [:]
        for type in documentTypes where type.claimsFiles {
            for key in type.keys(table) {
                if let position = positions[key] {
                    claims[position].rank = min(claims[position].rank, type.rank)
                } else {
                    positions[key] = claims.count
                    claims.append(FileClaim(key, type.rank))
                }
            }
        }
        return claims
    }

    /// Returns the document type through which the handler gets a file; nil if none claims it.
    public func documentType(of file: FileKind) -> DocumentType? {
        let table = TypeTable(declaring: typeDeclarations)
        let types = documentTypes.lazy.filter(\.claimsFiles).map { (type: $0, keys: $0.keys(table)) }
        return file.keys.lazy.compactMap { key in types.first { $0.keys.contains(key) }?.type }.first
    }

    /// The problem if a manifest has too many claims on files; nil if it is within the limits.
    var fileClaimProblem: ManifestProblem? {
        let bytes = fileClaims.reduce(0) { $0 + $1.key.description.utf8.count }
        guard fileClaims.count > Self.maximumFileClaims || bytes > Self.maximumFileClaimBytes else { return nil }
        return ManifestProblem(
            key: "CFBundleDocumentTypes",
            reason: "claims \(fileClaims.count) types and extensions (\(bytes) bytes); at most "
                + "\(Self.maximumFileClaims) (\(Self.maximumFileClaimBytes) bytes) are allowed"
        )
    }

    /// Type identifiers in the manifest's document types that lead to no file, with their keys.
    var unknownContentTypes: [(key: String, type: TypeIdentifier)] {
        guard !documentTypes.isEmpty else { return [] }
        let table = TypeTable(declaring: typeDeclarations)
        return documentTypes.enumerated().flatMap { index, document in
            document.contentTypes.enumerated().compactMap { position, type in
                let key = "CFBundleDocumentTypes[\(index)].LSItemContentTypes[\(position)]"
                return table.keys(of: type).isEmpty ? (key, type) : nil
            }
        }
    }
}
