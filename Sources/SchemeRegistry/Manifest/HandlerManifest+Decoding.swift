internal import Desktop
internal import RFC1808
internal import UserFiles
internal import WebLinks

extension HandlerManifest {
    /// Maximum number of one handler's schemes.
    private static let maximumSchemes = 1024
    /// Maximum number of type identifiers in the document types, and of those in the declarations' `UTTypeConformsTo`.
    private static let maximumTypes = 512
    /// Maximum number of one handler's claims on links. Each host is asked for a proof.
    private static let maximumDomains = 32

    /// Decodes a manifest from a property list.
    ///
    /// This reports all errors, not only the first, in the order in which the keys are declared.
    ///
    /// - Returns: the manifest, or `nil` if there is any problem, so that no handler is registered incompletely.
    static func decode(_ list: PropertyListValue) -> (manifest: HandlerManifest?, problems: [ManifestProblem]) {
        guard case .dictionary(let keys) = list else {
            return (nil, [ManifestProblem(key: nil, reason: "is \(list.typeName), not a dictionary")])
        }
        let reader = ManifestReader(keys)
        let identifier = reader.required("CFBundleIdentifier") { try BundleIdentifier($0.string()) }
        let command = reader.optional("OUCommand") { value in
            if keys["CFBundleExecutable"] != nil {
                throw WrongValue(description: "cannot be used together with CFBundleExecutable; remove one of them")
            }
            return try HandlerCommand(value.strings())
        }
        let executable =
            command == nil
            ? reader.optional("CFBundleExecutable") { try Executable($0.string()) }
            : reader.optional("OUCommand") { try Executable($0.strings().first ?? "") }
        let desktopEntry = reader.optional("OUDesktopEntry") { value in
            for key in ["CFBundleExecutable", "OUCommand"] where keys[key] != nil {
                throw WrongValue(description: "cannot be used together with \(key); remove one of them")
            }
            return try value.desktopEntry()
        }
        let arguments = reader.list("OUArguments") { try $0.string(allowing: .anything) }
        let name = reader.optional("CFBundleName") { try $0.string() }
        let displayName = reader.optional("CFBundleDisplayName") { try $0.string() }
        let version = reader.optional("CFBundleVersion") { try $0.string() }
        let icons = reader.icons()
        let urlTypes = reader.dictionaries("CFBundleURLTypes", URLType.decode)
        let schemeCount = urlTypes.lazy.map(\.schemes.count).reduce(0, +)
        if schemeCount > maximumSchemes {
            reader.report("CFBundleURLTypes", "has \(schemeCount) schemes; at most \(maximumSchemes) are allowed")
        }
        let associatedDomains = reader.list("OUAssociatedDomains") { try AssociatedDomain($0.string()) } ?? []
        if associatedDomains.count > maximumDomains {
            reader.report(
                "OUAssociatedDomains",
                "has \(associatedDomains.count) elements; at most \(maximumDomains) are allowed"
            )
        }
        let documentTypes = reader.dictionaries("CFBundleDocumentTypes", DocumentType.decode)
        let typeDeclarations = ["UTExportedTypeDeclarations", "UTImportedTypeDeclarations"].flatMap {
            reader.dictionaries($0, TypeDeclaration.decode).compactMap(\.self)
        }
        // Each of the types may lead to each of the declarations.
        let typeCount = documentTypes.reduce(0) { $0 + $1.contentTypes.count }
        if typeCount > maximumTypes {
            reader.report(
                "CFBundleDocumentTypes",
                "has \(typeCount) type identifiers; at most \(maximumTypes) are allowed"
            )
        }
        let conformanceCount = typeDeclarations.reduce(0) { $0 + $1.conformsTo.count }
        if conformanceCount > maximumTypes {
            reader.report(
                "UTImportedTypeDeclarations",
                "and UTExportedTypeDeclarations have \(conformanceCount) elements of UTTypeConformsTo; at most "
                    + "\(maximumTypes) are allowed"
            )
        }
        let launchImageFile = reader.optional("UILaunchImageFile") { try $0.fileName() }
        let backgroundModes = reader.list("UIBackgroundModes") { BackgroundMode(rawValue: try $0.string()) }
        let observedChanges = reader.list("OUObservedChanges") { ObservedChange(rawValue: try $0.string()) }
        let exitsOnSuspend = reader.optional("UIApplicationExitsOnSuspend") { try $0.boolean() }
        let queriesSchemes = reader.list("LSApplicationQueriesSchemes") { try Scheme($0.string()) }
        let launchTimeout = reader.optional("OULaunchTimeout") { try $0.seconds() }
        let openTimeout = reader.optional("OUOpenTimeout") { try $0.seconds() }
        let suspendDelay = reader.optional("OUSuspendDelay") { try $0.seconds() }
        let transitionTimeout = reader.optional("OUTransitionTimeout") { try $0.seconds() }
        let backgroundTime = reader.optional("OUBackgroundTime") { try $0.seconds() }
        let pushURL = reader.optional("OUPushURL") { try $0.url(of: urlTypes) }
        let environment = reader.environment("OUEnvironment")
        let allowedSources = reader.list("OUAllowedSources") { try SourcePattern($0.string()) }
        let reach = reader.optional("OUReach") { try Reach($0.string()) }
        if reach == .listed { _ = reader.required("OUAllowedSources") { $0 } }
        let asks = reader.optional("OUAsk") { try $0.boolean() }
        let answersCallbacks = reader.optional("OUAnswersCallbacks") { try $0.boolean() }
        let keepsOldProgram = reader.optional("OUKeepOldProgram") { try $0.boolean() }
        let isFixed = reader.optional("OUFixed") { try $0.boolean() }

        guard reader.problems.isEmpty, let identifier else { return (nil, reader.problems) }
        var manifest = HandlerManifest(identifier: identifier, executable: executable)
        manifest.arguments = arguments ?? []
        manifest.command = command
        manifest.desktopEntry = desktopEntry
        manifest.name = name
        manifest.displayName = displayName
        manifest.version = version
        manifest.icons = icons
        manifest.urlTypes = urlTypes
        manifest.associatedDomains = associatedDomains
        manifest.documentTypes = documentTypes
        manifest.typeDeclarations = typeDeclarations
        manifest.fileClaims = manifest.resolvedFileClaims()
        manifest.launchImageFile = launchImageFile ?? defaultLaunchImageFile
        manifest.backgroundModes = backgroundModes?.compactMap(\.self) ?? []
        manifest.observedChanges = observedChanges?.compactMap(\.self) ?? []
        manifest.exitsOnSuspend = exitsOnSuspend ?? false
        manifest.queriesSchemes = queriesSchemes ?? []
        manifest.launchTimeout = launchTimeout
        manifest.openTimeout = openTimeout
        manifest.suspendDelay = suspendDelay
        manifest.transitionTimeout = transitionTimeout
        manifest.backgroundTime = backgroundTime
        manifest.pushURL = pushURL
        manifest.environment = environment
        manifest.allowedSources = allowedSources
        manifest.reach = reach ?? .everyone
        manifest.asks = asks ?? false
        manifest.answersCallbacks = answersCallbacks ?? false
        manifest.keepsOldProgram = keepsOldProgram ?? false
        manifest.isFixed = isFixed ?? false
        if let problem = manifest.fileClaimProblem { return (nil, [problem]) }
        return (manifest, [])
    }
}

extension HandlerManifest {
    /// Returns the schemes listed in a manifest with errors; none if the file is not a property list.
    static func claims(inFile path: String) -> [Scheme] {
        do {
            let bytes = try contents(ofFile: path, limit: ManifestFiles.sizeLimit, followingLinks: true)
            guard case .dictionary(let keys) = try PropertyListValue(bytes: bytes) else { return [] }
            return ManifestReader(keys).dictionaries("CFBundleURLTypes", URLType.decode).flatMap(\.schemes)
        } catch {
            // The file's diagnostics report the error.
            return []
        }
    }
}

extension ManifestReader {
    /// Reads the three keys for icons, the earlier ones of which are preferred.
    fileprivate func icons() -> [String] {
        var icons = optional("CFBundleIconFile") { [try $0.icon()] } ?? []
        dictionary("CFBundleIcons") { kinds in
            kinds.dictionary("CFBundlePrimaryIcon") { icons += $0.list("CFBundleIconFiles") { try $0.icon() } ?? [] }
        }
        return icons + (list("CFBundleIconFiles") { try $0.icon() } ?? [])
    }
}

extension URLType {
    fileprivate static func decode(_ reader: ManifestReader) -> URLType {
        let name = reader.optional("CFBundleURLName") { try $0.string() }
        let schemes = reader.list("CFBundleURLSchemes", isRequired: true, allowsEmpty: false) {
            let scheme = try Scheme($0.string())
            guard scheme != .reply else {
                throw WrongValue(description: "contains \(scheme), which belongs to the router")
            }
            return scheme
        }
        let hosts = reader.list("OUHosts", allowsEmpty: false) { try HostPattern($0.string()) }
        return URLType(name: name, schemes: schemes ?? [], hosts: hosts)
    }
}

extension DocumentType {
    fileprivate static func decode(_ reader: ManifestReader) -> DocumentType {
        var type = DocumentType(name: reader.optional("CFBundleTypeName") { try $0.string() })
        type.role = reader.optional("CFBundleTypeRole") { try DocumentRole($0.string()) } ?? type.role
        type.rank = reader.optional("LSHandlerRank") { try HandlerRank($0.string()) } ?? type.rank
        type.contentTypes = reader.list("LSItemContentTypes") { try TypeIdentifier($0.string()) } ?? []
        let extensions = reader.list("CFBundleTypeExtensions") { try $0.filenameExtension() } ?? []
        type.filenameExtensions = extensions.compactMap(\.self)
        type.mimeTypes = reader.list("CFBundleTypeMIMETypes") { try $0.mimeType() } ?? []
        // An asterisk stands for every file.
        if extensions.contains(nil) { type.mimeTypes.append(.octetStream) }
        return type
    }
}

extension TypeDeclaration {
    fileprivate static func decode(_ reader: ManifestReader) -> TypeDeclaration? {
        let identifier = reader.required("UTTypeIdentifier") { try TypeIdentifier($0.string()) }
        let wider = reader.oneOrMore("UTTypeConformsTo") { try TypeIdentifier($0.string()) }
        var mimeTypes: [MimeType] = []
        var extensions: [FilenameExtension] = []
        reader.dictionary("UTTypeTagSpecification") { tags in
            mimeTypes = tags.oneOrMore("public.mime-type") { try $0.mimeType() }
            extensions = tags.oneOrMore("public.filename-extension") { try $0.filenameExtension() }.compactMap(\.self)
        }
        guard let identifier else { return nil }
        var declaration = TypeDeclaration(identifier)
        declaration.conformsTo = wider
        declaration.mimeTypes = mimeTypes
        declaration.filenameExtensions = extensions
        return declaration
    }
}

extension PropertyListValue {
    /// Returns the value as the name of a desktop entry.
    fileprivate func desktopEntry() throws -> DesktopFileID {
        let text = try string()
        guard let id = DesktopFileID(rawValue: text) else {
            let example = "org.example.App.desktop"
            throw WrongValue(
                description: "is '\(printable(text))', which is not the name of a desktop entry such as \(example)"
            )
        }
        return id
    }

    /// Returns the value as a URL with one of the handler's own schemes.
    fileprivate func url(of types: [URLType]) throws -> String {
        let text = try string()
        let url: GenericURL
        do throws(GenericURL.ParseError) {
            url = try GenericURL(text)
        } catch {
            throw WrongValue(description: "is '\(printable(text))', which is not a URL: \(error)")
        }
        guard types.contains(where: { $0.schemes.contains { $0 == Scheme(of: url) } }) else {
            throw WrongValue(description: "is '\(printable(text))', whose scheme is not in CFBundleURLTypes")
        }
        return text
    }

    /// Returns the value as a MIME type.
    fileprivate func mimeType() throws -> MimeType {
        let text = try string()
        guard let type = MimeType(text) else {
            throw WrongValue(description: "is '\(printable(text))', which is not a MIME type such as image/png")
        }
        return type
    }

    /// Returns the value as an extension; nil for an asterisk, which stands for every file.
    fileprivate func filenameExtension() throws -> FilenameExtension? {
        let text = try string()
        return text == "*" ? nil : try FilenameExtension(text)
    }
}
