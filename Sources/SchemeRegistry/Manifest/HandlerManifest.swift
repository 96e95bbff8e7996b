public import Desktop
public import WebLinks

/// A handler's own description: the typed and validated keys of its information property list.
///
/// The keys are those of app bundles (Information Property List Key Reference), plus some with the prefix `OU`, which
/// only this system has. All other keys are ignored.
public struct HandlerManifest: Sendable, Hashable {
    /// `CFBundleIdentifier`: the handler's id and bus name.
    public var identifier: BundleIdentifier
    /// `CFBundleExecutable`: the program; `nil` for a handler with a ``desktopEntry``, and for a fixed system handler,
    /// whose URLs go to the desktop's default application.
    public var executable: Executable?
    /// `OUArguments`: the arguments after the program's name, passed unchanged.
    public var arguments: [String] = []
    /// `OUCommand`: the command that opens a URL, whose program is ``executable``; `nil` for a handler on the bus.
    public var command: HandlerCommand?
    /// `OUDesktopEntry`: the desktop entry of an application that gets the URLs over the bus; `nil` for a handler with
    /// a program.
    public var desktopEntry: DesktopFileID?
    /// `CFBundleName`: the short name.
    public var name: String?
    /// `CFBundleDisplayName`: the name for display.
    public var displayName: String?
    /// `CFBundleVersion`: the build version.
    public var version: String?
    /// `CFBundleIconFile`, `CFBundleIcons` and `CFBundleIconFiles`, in this order: the icons, the preferred one first,
    /// as names of images in the bundle, names of icons in the desktop's theme, or absolute paths of images.
    public var icons: [String] = []
    /// `CFBundleURLTypes`: the schemes that the handler claims.
    public var urlTypes: [URLType] = []
    /// `OUAssociatedDomains`: the sites whose `https` links the handler opens, if a proof allows it.
    public var associatedDomains: [AssociatedDomain] = []
    /// `CFBundleDocumentTypes`: the kinds of file that the handler opens.
    public var documentTypes: [DocumentType] = []
    /// `UTExportedTypeDeclarations` and `UTImportedTypeDeclarations`: the types that the manifest describes.
    public var typeDeclarations: [TypeDeclaration] = []
    /// Claims on files, which follow from ``documentTypes`` and ``typeDeclarations``.
    public var fileClaims: [FileClaim] = []
    /// `UILaunchImageFile`: the base name of the launch images; `Default` if the key is missing.
    public var launchImageFile: String = HandlerManifest.defaultLaunchImageFile
    /// `UIBackgroundModes`: what the handler does in the background. Words that are not modes are left out.
    public var backgroundModes: [BackgroundMode] = []
    /// `OUObservedChanges`: the changes in the system that the handler is notified of. Words that are not kinds of
    /// changes are left out.
    public var observedChanges: [ObservedChange] = []
    /// `OUPushURL`: the URL that the router opens for a push, instead of handing the push over; `nil` to hand it over.
    public var pushURL: String?
    /// `UIApplicationExitsOnSuspend`: whether the handler exits instead of entering the background.
    public var exitsOnSuspend: Bool = false
    /// `LSApplicationQueriesSchemes`: schemes for which the handler may ask whether a URL can be opened.
    public var queriesSchemes: [Scheme] = []
    /// `OULaunchTimeout`: time limit from the start of the process until the handler is ready; `nil` for the router's
    /// default.
    public var launchTimeout: Duration?
    /// `OUOpenTimeout`: time limit for the answer to one URL, from its arrival, so a launch counts; `nil` for the router's
    /// default.
    public var openTimeout: Duration?
    /// `OUSuspendDelay`: time in the background before the handler is suspended; `nil` for the router's default.
    public var suspendDelay: Duration?
    /// `OUTransitionTimeout`: time limit for each method on the way to the foreground or to the background, and for
    /// taking the bus name back after a suspension; `nil` for the router's default.
    public var transitionTimeout: Duration?
    /// `OUBackgroundTime`: time limit for the handler's background tasks, if it is shorter than the router's; `nil` for
    /// the router's.
    public var backgroundTime: Duration?
    /// `OUEnvironment`: variables to add to the clean environment in which the handler starts.
    public var environment: [String: String] = [:]
    /// `OUAllowedSources`: the senders whose URLs the handler accepts; `nil` for all, empty for none.
    public var allowedSources: [SourcePattern]?
    /// `OUReach`: programs that may send URLs to the handler. ``Reach/listed`` requires ``allowedSources``.
    public var reach: Reach = .everyone
    /// `OUAsk`: whether the router asks the user before each URL, unless a rule in the policy says otherwise.
    public var asks: Bool = false
    /// `OUAnswersCallbacks`: whether the router opens the callbacks of x-callback-url for the handler, with the handler's replies.
    public var answersCallbacks: Bool = false
    /// `OUKeepOldProgram`: whether the handler's process is kept when its program has been rebuilt.
    public var keepsOldProgram: Bool = false
    /// `OUFixed`: whether no other handler can take over the schemes.
    ///
    /// This works only in a system directory: see ``Handler/isFixed``.
    public var isFixed: Bool = false

    /// Base name of the launch images if the manifest gives none.
    public static let defaultLaunchImageFile = "Default"

    /// Creates a manifest that has only an id and a program.
    public init(identifier: BundleIdentifier, executable: Executable?) {
        self.identifier = identifier
        self.executable = executable
    }
}

/// An entry of `CFBundleURLTypes`: schemes with an abstract name (app programming guide, Table 6-2).
public struct URLType: Sendable, Hashable {
    /// `CFBundleURLName`: the abstract name, in reverse DNS order by convention. It is also the key to its localised
    /// form.
    public var name: String?
    /// `CFBundleURLSchemes`: the schemes, never empty.
    public var schemes: [Scheme]
    /// `OUHosts`: the hosts whose URLs the entry claims, never empty; `nil` for URLs with any host or none.
    public var hosts: [HostPattern]?

    /// Creates an entry that claims the URLs with these schemes and hosts.
    public init(name: String? = nil, schemes: [Scheme], hosts: [HostPattern]? = nil) {
        self.name = name
        self.schemes = schemes
        self.hosts = hosts
    }
}
