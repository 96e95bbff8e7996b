/// What a handler says about itself: the keys of its information property list, typed and checked.
///
/// The keys are those of app bundles (Information Property List Key Reference), and with the prefix `OU` the ones that
/// only this system has. Keys that are not listed here are ignored.
public struct HandlerManifest: Sendable, Hashable {
    /// `CFBundleIdentifier`: the handler's id and bus name.
    public var identifier: BundleIdentifier
    /// `CFBundleExecutable`: the program; `nil` only for a fixed system handler, which means the desktop's default.
    public var executable: Executable?
    /// `OUArguments`: the arguments after the program's name, passed on as they are.
    public var arguments: [String] = []
    /// `CFBundleName`: the short name.
    public var name: String?
    /// `CFBundleDisplayName`: the name that is shown to people.
    public var displayName: String?
    /// `CFBundleVersion`: the version of the build.
    public var version: String?
    /// `CFBundleURLTypes`: the schemes that it claims.
    public var urlTypes: [URLType] = []
    /// `CFBundleDocumentTypes`: the kinds of file that it opens.
    public var documentTypes: [DocumentType] = []
    /// `UILaunchImageFile`: the base name of its launch images, `Default` if the manifest gives none.
    public var launchImageFile: String = HandlerManifest.defaultLaunchImageFile
    /// `UIBackgroundModes`: what it does in the background; one that has any is not suspended.
    public var backgroundModes: [String] = []
    /// `UIApplicationExitsOnSuspend`: it ends where others go to the background.
    public var exitsOnSuspend: Bool = false
    /// `LSApplicationQueriesSchemes`: the schemes that it may ask about, whether they can be opened.
    public var queriesSchemes: [Scheme] = []
    /// `OULaunchTimeout`: how long it may take from its start until it is ready; `nil` for the router's default.
    public var launchTimeout: Duration?
    /// `OUOpenTimeout`: how long it may take to answer for one URL; `nil` for the router's default.
    public var openTimeout: Duration?
    /// `OUSuspendDelay`: how long it stays unsuspended in the background; `nil` for the router's default.
    public var suspendDelay: Duration?
    /// `OUEnvironment`: added to the clean environment that it is started with.
    public var environment: [String: String] = [:]
    /// `OUAllowedSources`: who may send it URLs; `nil` for anyone, empty for nobody.
    public var allowedSources: [SourcePattern]?
    /// `OUFixed`: its schemes cannot be taken over.
    ///
    /// Counts in a system directory only: see ``Handler/isFixed``.
    public var isFixed: Bool = false

    /// The base name of launch images where the manifest gives none.
    public static let defaultLaunchImageFile = "Default"

    /// A manifest with nothing but an id and a program.
    public init(identifier: BundleIdentifier, executable: Executable?) {
        self.identifier = identifier
        self.executable = executable
    }
}

/// One entry of `CFBundleURLTypes`: schemes under an abstract name (app programming guide, Table 6-2).
public struct URLType: Sendable, Hashable {
    /// `CFBundleURLName`: the abstract name, in reverse DNS by convention; also the key of its localised name.
    public var name: String?
    /// `CFBundleURLSchemes`: the schemes, never empty.
    public var schemes: [Scheme]
    /// `OUHosts`: only URLs of these hosts, never empty; `nil` for URLs of any host or none.
    public var hosts: [HostPattern]?

    /// An entry for schemes, of certain hosts only if any are given.
    public init(name: String? = nil, schemes: [Scheme], hosts: [HostPattern]? = nil) {
        self.name = name
        self.schemes = schemes
        self.hosts = hosts
    }
}

/// One entry of `CFBundleDocumentTypes`: a kind of file that a handler opens.
public struct DocumentType: Sendable, Hashable {
    /// `CFBundleTypeName`: the abstract name of the kind.
    public var name: String?
    /// `LSItemContentTypes`: uniform type identifiers.
    public var contentTypes: [String] = []
    /// `CFBundleTypeExtensions`: file name extensions without the dot.
    public var filenameExtensions: [String] = []
    /// `CFBundleTypeMIMETypes`: MIME types.
    public var mimeTypes: [String] = []

    /// An entry that names no kind yet.
    public init(name: String? = nil) {
        self.name = name
    }
}
