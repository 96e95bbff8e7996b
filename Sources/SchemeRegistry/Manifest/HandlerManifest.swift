public import Desktop

/// A handler's own description: the typed and validated keys of its information property list.
///
/// The keys are the ones of app bundles (Information Property List Key Reference). The keys with the prefix `OU` exist
/// only in this system. Keys that are not listed here are ignored.
public struct HandlerManifest: Sendable, Hashable {
    /// `CFBundleIdentifier`: the handler's id and bus name.
    public var identifier: BundleIdentifier
    /// `CFBundleExecutable`: the program. The value is `nil` for a handler with a ``desktopEntry``, and for a fixed system handler,
    /// whose URLs go to the desktop's default application.
    public var executable: Executable?
    /// `OUArguments`: the arguments after the program's name, passed unchanged.
    public var arguments: [String] = []
    /// `OUCommand`: the command that opens a URL; `nil` for a handler on the bus. The command's program is ``executable``.
    public var command: HandlerCommand?
    /// `OUDesktopEntry`: the desktop entry of the application that gets the URLs over the bus; `nil` for a handler with a program.
    public var desktopEntry: DesktopFileID?
    /// `CFBundleName`: the short name.
    public var name: String?
    /// `CFBundleDisplayName`: the name for display.
    public var displayName: String?
    /// `CFBundleVersion`: the version of the build.
    public var version: String?
    /// `CFBundleIconFile`: the icon. The value is the name of an image in the bundle, the name of an icon of the desktop's
    /// theme, or the absolute path of an image.
    public var iconFile: String?
    /// `CFBundleURLTypes`: the schemes that the handler claims.
    public var urlTypes: [URLType] = []
    /// `CFBundleDocumentTypes`: the kinds of file that the handler opens.
    public var documentTypes: [DocumentType] = []
    /// `UTExportedTypeDeclarations` and `UTImportedTypeDeclarations`: the types that the manifest explains.
    public var typeDeclarations: [TypeDeclaration] = []
    /// The claims on files that follow from ``documentTypes`` and ``typeDeclarations``.
    public var fileClaims: [FileClaim] = []
    /// `UILaunchImageFile`: the base name of the launch images; `Default` if the key is missing.
    public var launchImageFile: String = HandlerManifest.defaultLaunchImageFile
    /// `UIBackgroundModes`: the handler's activities in the background, without the words that are no modes.
    public var backgroundModes: [BackgroundMode] = []
    /// `UIApplicationExitsOnSuspend`: whether the handler ends instead of entering the background.
    public var exitsOnSuspend: Bool = false
    /// `LSApplicationQueriesSchemes`: the schemes for which the handler may ask whether a URL can be opened.
    public var queriesSchemes: [Scheme] = []
    /// `OULaunchTimeout`: the time limit from the start of the process until the handler is ready; `nil` for the
    /// router's default.
    public var launchTimeout: Duration?
    /// `OUOpenTimeout`: the time limit for the answer to one URL; `nil` for the router's default.
    public var openTimeout: Duration?
    /// `OUSuspendDelay`: the time in the background before the handler is suspended; `nil` for the router's default.
    public var suspendDelay: Duration?
    /// `OUTransitionTimeout`: the time limit for each method on the way to the foreground or to the background, and for
    /// taking the bus name back after a suspension; `nil` for the router's default.
    public var transitionTimeout: Duration?
    /// `OUBackgroundTime`: the time limit of the handler's background tasks, if it is shorter than the router's; `nil` for
    /// the router's.
    public var backgroundTime: Duration?
    /// `OUEnvironment`: variables that are added to the clean environment in which the handler is started.
    public var environment: [String: String] = [:]
    /// `OUAllowedSources`: the senders that may send URLs to the handler; `nil` for all senders, empty for none.
    public var allowedSources: [SourcePattern]?
    /// `OUReach`: the programs that may send URLs to the handler. With ``Reach/listed``, there are ``allowedSources``.
    public var reach: Reach = .everyone
    /// `OUAsk`: whether the router asks the person who uses the computer before each URL, where no rule of the policy says
    /// otherwise.
    public var asks: Bool = false
    /// `OUAnswersCallbacks`: whether the router opens the callbacks of x-callback-url for the handler, with the handler's replies.
    public var answersCallbacks: Bool = false
    /// `OUFixed`: whether no other handler can take over the handler's schemes.
    ///
    /// The key has an effect in a system directory only: see ``Handler/isFixed``.
    public var isFixed: Bool = false

    /// The base name of launch images if the manifest names none.
    public static let defaultLaunchImageFile = "Default"

    /// Creates a manifest with an id and a program only.
    public init(identifier: BundleIdentifier, executable: Executable?) {
        self.identifier = identifier
        self.executable = executable
    }
}

/// An entry of `CFBundleURLTypes`: schemes with an abstract name (app programming guide, Table 6-2).
public struct URLType: Sendable, Hashable {
    /// `CFBundleURLName`: the abstract name, in reverse DNS order by convention. The name is also the key of its
    /// localised form.
    public var name: String?
    /// `CFBundleURLSchemes`: the schemes, never empty.
    public var schemes: [Scheme]
    /// `OUHosts`: the hosts whose URLs the entry claims, never empty; `nil` for URLs with any host or none.
    public var hosts: [HostPattern]?

    /// Creates an entry that claims the URLs of the given schemes and hosts.
    public init(name: String? = nil, schemes: [Scheme], hosts: [HostPattern]? = nil) {
        self.name = name
        self.schemes = schemes
        self.hosts = hosts
    }
}
