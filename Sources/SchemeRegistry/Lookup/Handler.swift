public import Desktop
public import WebLinks

/// A registered handler: its manifest, and where the registry found it.
public struct Handler: Sendable, Hashable {
    /// The way in which a handler receives its URLs.
    public enum Kind: String, Sendable, Hashable {
        /// Through this system's D-Bus interface.
        case native
        /// Through `org.freedesktop.Application`, or through the desktop's default application for the scheme.
        case freedesktop
        /// As an argument to a program that is started for the URL.
        case exec
    }

    /// The program to start for a handler.
    public enum Program: Sendable, Hashable, CustomStringConvertible {
        /// An absolute path.
        case path(String)
        /// A name that is looked up on `PATH` at launch.
        case nameOnPath(String)
        /// One of the desktop's applications, which the bus starts.
        case desktopEntry(DesktopFileID)

        /// The path or the name.
        public var description: String {
            switch self {
            case .path(let text), .nameOnPath(let text): text
            case .desktopEntry(let id): id.rawValue
            }
        }
    }

    /// The handler's own description.
    public var manifest: HandlerManifest { declaration.manifest }
    /// The path of the bundle's directory or the manifest's file, with all links resolved.
    public var path: String { declaration.path }
    /// The entry in the registry's directory: a link created by a registration, or the bundle or file itself.
    public var entry: String { declaration.entry }
    /// The program; `nil` for the desktop's default application.
    ///
    /// Its file may not exist. In that case, the launch reports it.
    public var program: Program? { declaration.program }
    /// The kind of directory that declares the handler.
    public var scope: RegistryDirectories.Scope { declaration.scope }
    /// The directory's position among all directories, from 0. The lower number comes first.
    public var precedence: Int { declaration.precedence }
    /// The date of the registration.
    public var registrationDate: RegistrationDate { declaration.registrationDate }
    /// Everything that the handler claims, except for other handlers' fixed schemes.
    public var claims: [URLType] { declaration.claims }
    private let declaration: Declaration

    /// Creates a handler that an entry in a directory declares.
    public init(
        manifest: HandlerManifest,
        path: String,
        entry: String,
        program: Program?,
        scope: RegistryDirectories.Scope,
        precedence: Int,
        registrationDate: RegistrationDate,
        isInstalledByAdministrator: Bool = false
    ) {
        declaration = Declaration(
            manifest: manifest,
            path: path,
            entry: entry,
            program: program,
            scope: scope,
            precedence: precedence,
            registrationDate: registrationDate,
            claims: manifest.urlTypes,
            isInstalledByAdministrator: isInstalledByAdministrator
        )
    }

    /// Creates a copy of a handler that claims less than its manifest says.
    init(_ handler: Handler, claiming claims: [URLType]) {
        declaration = Declaration(
            manifest: handler.manifest,
            path: handler.path,
            entry: handler.entry,
            program: handler.program,
            scope: handler.scope,
            precedence: handler.precedence,
            registrationDate: handler.registrationDate,
            claims: claims,
            isInstalledByAdministrator: handler.isInstalledByAdministrator
        )
    }

    /// Creates the handler that a router has in memory, from one that a file declares or that a caller describes.
    ///
    /// It comes after all others, is not published to the desktop, and opens no files and no links to web pages.
    init(temporary handler: Handler, claiming claims: [URLType], program: Program?) {
        var manifest = handler.manifest
        manifest.documentTypes = []
        manifest.fileClaims = []
        manifest.associatedDomains = []
        declaration = Declaration(
            manifest: manifest,
            path: handler.path,
            entry: handler.entry,
            program: program,
            scope: .memory,
            precedence: .max,
            registrationDate: handler.registrationDate,
            claims: claims,
            isInstalledByAdministrator: false
        )
    }

    /// Whether no directory declares the handler, because a router has it in memory temporarily.
    public var isTemporary: Bool { scope == .memory }

    /// The handler's id, and also its bus name.
    public var id: BundleIdentifier { declaration.manifest.identifier }

    /// Path of the property list that declares the handler, with all links resolved.
    public var manifestPath: String { isBundle ? "\(path)/\(HandlerForm.bundleManifest)" : path }

    // Each URL needs these values. If another module reads ``manifest``, it gets a copy of the whole manifest.

    /// Time limit for the answer to one URL; see ``HandlerManifest/openTimeout``.
    public var openTimeout: Duration? { declaration.manifest.openTimeout }
    /// Time limit for a launch; see ``HandlerManifest/launchTimeout``.
    public var launchTimeout: Duration? { declaration.manifest.launchTimeout }
    /// Time limit for a change of state; see ``HandlerManifest/transitionTimeout``.
    public var transitionTimeout: Duration? { declaration.manifest.transitionTimeout }
    /// Whether the handler exits instead of entering the background.
    public var exitsOnSuspend: Bool { declaration.manifest.exitsOnSuspend }
    /// Whether the router opens the callbacks of x-callback-url for the handler.
    public var answersCallbacks: Bool { declaration.manifest.answersCallbacks }
    /// Whether the handler's process is kept when its program has been rebuilt.
    public var keepsOldProgram: Bool { declaration.manifest.keepsOldProgram }
    /// Whether the router asks the user before each URL.
    public var asks: Bool { declaration.manifest.asks }
    /// The programs that may send URLs to the handler.
    public var reach: Reach { declaration.manifest.reach }
    /// The senders whose URLs the handler accepts; see ``HandlerManifest/allowedSources``.
    public var allowedSources: [SourcePattern]? { declaration.manifest.allowedSources }

    /// The path of the property list that declares the handler, in the form that diagnostics show.
    var manifestFile: String {
        entry.hasSuffix(HandlerForm.bundleSuffix) ? "\(entry)/\(HandlerForm.bundleManifest)" : entry
    }

    /// The name for display: the display name, or else the short name, or else the id.
    public var name: String {
        [manifest.displayName, manifest.name].compactMap { $0 }.first { !$0.isEmpty } ?? id.rawValue
    }

    /// All schemes that the handler claims, each once, in the manifest's order.
    public var schemes: [Scheme] {
        var seen: Set<Scheme> = []
        return claims.flatMap(\.schemes).filter { seen.insert($0).inserted }
    }

    /// Claims on files. A handler without a program has none.
    public var fileClaims: [FileClaim] { program == nil ? [] : declaration.manifest.fileClaims }

    /// MIME types of the files that the handler claims, in the manifest's order.
    public var fileTypes: [MimeType] {
        fileClaims.compactMap { if case .type(let type) = $0.key { type } else { nil } }
    }

    /// Sites whose `https` links the handler opens, if a proof allows it; see ``HandlerManifest/associatedDomains``.
    public var associatedDomains: [AssociatedDomain] { declaration.manifest.associatedDomains }
    /// Whether only root can change the manifest and the directories above it. This is only looked up for a handler with
    /// ``associatedDomains``.
    public var isInstalledByAdministrator: Bool { declaration.isInstalledByAdministrator }

    /// Whether no other handler can take over the schemes: `OUFixed` is set, and the handler is in a system directory.
    public var isFixed: Bool { manifest.isFixed && scope == .system }

    /// The way in which the handler receives its URLs.
    public var kind: Kind {
        program == nil || desktopEntry != nil ? .freedesktop : manifest.command == nil ? .native : .exec
    }

    /// The desktop entry of the application that gets the handler's URLs over the bus; `nil` for any other handler.
    public var desktopEntry: DesktopFileID? {
        if case .desktopEntry(let id)? = program { id } else { nil }
    }
}

/// A handler's contents, behind one reference.
///
/// Each change to the registry copies and compares all handlers, and a manifest has about twenty fields.
private final class Declaration: Sendable, Hashable {
    let manifest: HandlerManifest
    let path: String
    let entry: String
    let program: Handler.Program?
    let scope: RegistryDirectories.Scope
    let precedence: Int
    let registrationDate: RegistrationDate
    let claims: [URLType]
    let isInstalledByAdministrator: Bool

    init(
        manifest: HandlerManifest,
        path: String,
        entry: String,
        program: Handler.Program?,
        scope: RegistryDirectories.Scope,
        precedence: Int,
        registrationDate: RegistrationDate,
        claims: [URLType],
        isInstalledByAdministrator: Bool
    ) {
        self.manifest = manifest
        self.path = path
        self.entry = entry
        self.program = program
        self.scope = scope
        self.precedence = precedence
        self.registrationDate = registrationDate
        self.claims = claims
        self.isInstalledByAdministrator = isInstalledByAdministrator
    }

    static func == (left: Declaration, right: Declaration) -> Bool {
        left === right
            || left.entry == right.entry && left.path == right.path && left.program == right.program
                && left.scope == right.scope && left.precedence == right.precedence
                && left.registrationDate == right.registrationDate && left.manifest == right.manifest
                && left.claims == right.claims
                && left.isInstalledByAdministrator == right.isInstalledByAdministrator
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(entry)
    }
}

extension Handler {
    /// Returns the rule that decides between two handlers that claim the same URL; `nil` if both have the same id.
    ///
    /// It checks the rules in the order of their precedence. ``WinningRule/host`` comes between the first two but is
    /// left out, because only a URL can decide it.
    static func decidingRule(_ left: Handler, _ right: Handler) -> WinningRule? {
        if left.isFixed != right.isFixed { return .fixedScheme }
        if left.precedence != right.precedence { return .directory }
        if left.registrationDate != right.registrationDate { return .registrationDate }
        return left.id == right.id ? nil : .identifier
    }

    /// Returns whether one handler comes before another by these rules.
    static func precedes(_ left: Handler, _ right: Handler) -> Bool {
        switch decidingRule(left, right) {
        case .fixedScheme: left.isFixed
        case .directory: left.precedence < right.precedence
        case .registrationDate: left.registrationDate < right.registrationDate
        case .identifier: left.id < right.id
        // In one directory, two entries can have the same id and the same date.
        case .claim, .userDefault, .host, .association, .fileScheme, .fileType, .rank, nil: left.entry < right.entry
        }
    }
}
