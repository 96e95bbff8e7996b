/// A registered handler: its manifest, and where the registry found it.
public struct Handler: Sendable, Hashable {
    /// How a handler gets its URLs.
    public enum Kind: String, Sendable, Hashable {
        /// It speaks this system's own protocol.
        case native
        /// Over `org.freedesktop.Application`; or it is the desktop's default application for the scheme, whatever that is.
        case freedesktop
        /// A program is started with the URL among its arguments.
        case exec
    }

    /// The program that is started for a handler.
    public enum Program: Sendable, Hashable, CustomStringConvertible {
        /// An absolute path.
        case path(String)
        /// A name that is looked up on `PATH` at launch.
        case nameOnPath(String)

        /// The path or the name.
        public var description: String {
            switch self {
            case .path(let text), .nameOnPath(let text): text
            }
        }
    }

    /// What the handler says about itself.
    public var manifest: HandlerManifest { declaration.manifest }
    /// The bundle's directory or the manifest's file, with all links resolved.
    public var path: String { declaration.path }
    /// The entry in the registry's directory: the link that a registration made, or the bundle or file itself.
    public var entry: String { declaration.entry }
    /// The program, or `nil` for the desktop's default application.
    ///
    /// There may be no such file: that is for the launch to say.
    public var program: Program? { declaration.program }
    /// Whose directory declares it.
    public var scope: RegistryDirectories.Scope { declaration.scope }
    /// The place of that directory, counted from 0; the lower comes first.
    public var precedence: Int { declaration.precedence }
    /// When it was registered.
    public var registrationDate: RegistrationDate { declaration.registrationDate }
    /// What it claims, without fixed schemes of others.
    public var claims: [URLType] { declaration.claims }
    private let declaration: Declaration

    /// A handler that an entry of a directory declares.
    public init(
        manifest: HandlerManifest,
        path: String,
        entry: String,
        program: Program?,
        scope: RegistryDirectories.Scope,
        precedence: Int,
        registrationDate: RegistrationDate
    ) {
        declaration = Declaration(
            manifest: manifest,
            path: path,
            entry: entry,
            program: program,
            scope: scope,
            precedence: precedence,
            registrationDate: registrationDate,
            claims: manifest.urlTypes
        )
    }

    /// A handler that claims less than it declares.
    init(_ handler: Handler, claiming claims: [URLType]) {
        declaration = Declaration(
            manifest: handler.manifest,
            path: handler.path,
            entry: handler.entry,
            program: handler.program,
            scope: handler.scope,
            precedence: handler.precedence,
            registrationDate: handler.registrationDate,
            claims: claims
        )
    }

    /// The id, which is the bus name as well.
    public var id: BundleIdentifier { declaration.manifest.identifier }

    /// The property list that declares it, as diagnostics name it.
    var manifestFile: String {
        entry.hasSuffix(HandlerForm.bundleSuffix) ? "\(entry)/\(HandlerForm.bundleManifest)" : entry
    }

    /// The name to show: the display name, else the short name, else the id.
    public var name: String {
        [manifest.displayName, manifest.name].compactMap { $0 }.first { !$0.isEmpty } ?? id.rawValue
    }

    /// The schemes that it claims, each once, in the manifest's order.
    public var schemes: [Scheme] {
        var seen: Set<Scheme> = []
        return claims.flatMap(\.schemes).filter { seen.insert($0).inserted }
    }

    /// Whether its schemes cannot be taken over: it says so, and stands in a system directory.
    public var isFixed: Bool { manifest.isFixed && scope == .system }

    /// How it gets its URLs.
    public var kind: Kind { program == nil ? .freedesktop : .native }
}

/// All of a handler behind one reference, as each change of the registry copies and compares all handlers, and a
/// manifest has two dozen fields.
private final class Declaration: Sendable, Hashable {
    let manifest: HandlerManifest
    let path: String
    let entry: String
    let program: Handler.Program?
    let scope: RegistryDirectories.Scope
    let precedence: Int
    let registrationDate: RegistrationDate
    let claims: [URLType]

    init(
        manifest: HandlerManifest,
        path: String,
        entry: String,
        program: Handler.Program?,
        scope: RegistryDirectories.Scope,
        precedence: Int,
        registrationDate: RegistrationDate,
        claims: [URLType]
    ) {
        self.manifest = manifest
        self.path = path
        self.entry = entry
        self.program = program
        self.scope = scope
        self.precedence = precedence
        self.registrationDate = registrationDate
        self.claims = claims
    }

    static func == (left: Declaration, right: Declaration) -> Bool {
        left === right
            || left.entry == right.entry && left.path == right.path && left.program == right.program
                && left.scope == right.scope && left.precedence == right.precedence
                && left.registrationDate == right.registrationDate && left.manifest == right.manifest
                && left.claims == right.claims
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(entry)
    }
}

extension Handler {
    /// The rules by which one of two handlers wins, in the order in which they are asked.
    ///
    /// Between the first two, the longer of the matching hosts decides, which only a URL can tell.
    static func decidingRule(_ left: Handler, _ right: Handler) -> WinningRule? {
        if left.isFixed != right.isFixed { return .fixedScheme }
        if left.precedence != right.precedence { return .directory }
        if left.registrationDate != right.registrationDate { return .registrationDate }
        return left.id == right.id ? nil : .identifier
    }

    /// Whether one handler comes before another by those rules.
    static func precedes(_ left: Handler, _ right: Handler) -> Bool {
        switch decidingRule(left, right) {
        case .fixedScheme: left.isFixed
        case .directory: left.precedence < right.precedence
        case .registrationDate: left.registrationDate < right.registrationDate
        case .identifier: left.id < right.id
        // Two entries of one directory with one id, made in the same nanosecond.
        case .request, .userDefault, .host, .kind, .association, nil: left.entry < right.entry
        }
    }
}
