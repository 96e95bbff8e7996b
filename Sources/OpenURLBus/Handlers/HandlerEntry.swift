/// A handler or an application, as ``RegistryInterface`` lists it.
public struct HandlerEntry: Sendable, Hashable {
    /// Bundle identifier, or name of the desktop file.
    public var id: String
    /// The name to show to people.
    public var name: String
    /// Path of the manifest; nil for an application.
    public var manifest: String?
    /// Path of the bundle that has the manifest; nil for a bare manifest and for an application.
    public var bundle: String?
    /// Path of the desktop file; nil for a handler.
    public var desktopEntry: String?
    /// The program as the manifest gives it; empty if the entry stands for the desktop's default application.
    public var executable: String
    /// Schemes that the handler claims.
    public var schemes: [String]
    /// MIME types of the files that the handler claims, and patterns for file names, such as `*.todo`; empty for an
    /// application.
    public var types: [String] = []
    /// Sites whose `https` links the handler opens if a proof allows it, such as `example.com` or `example.com/notes/*`;
    /// empty for an application.
    public var domains: [String] = []
    /// The schemes' names in the user's language, by their abstract names (`CFBundleURLName`).
    public var urlNames: [String: String] = [:]
    /// The names of the kinds of files in the user's language, by their abstract names (`CFBundleTypeName`).
    public var typeNames: [String: String] = [:]
    /// Path of the image to show during a launch; empty if there is none.
    public var launchImage = ""
    /// The way in which the handler gets URLs.
    public var kind: Reported<HandlerKind>
    /// Programs that may send URLs; ``Reported/absent`` for an application.
    public var reach: Reported<HandlerReach> = .absent
    /// Whether no other handler can take the schemes over.
    public var isFixed: Bool
    /// Why the handler is there only temporarily; ``Reported/absent`` for any other handler.
    public var temporary: Reported<TemporaryRegistration> = .absent
    /// The handler's state; ``Reported/absent`` for an application.
    public var state: Reported<HandlerState>
    /// Notes for people to read, such as which claims another handler wins, or which manifest keys were ignored.
    public var warnings: [String]
    /// Whether this entry leaves out what the manifest says, because it would be too large for a list. If so,
    /// ``warnings`` says so too.
    public var isCut = false

    /// Creates an entry.
    public init(
        id: String,
        name: String,
        executable: String,
        schemes: [String],
        kind: Reported<HandlerKind>,
        isFixed: Bool,
        state: Reported<HandlerState>,
        warnings: [String]
    ) {
        self.id = id
        self.name = name
        self.executable = executable
        self.schemes = schemes
        self.kind = kind
        self.isFixed = isFixed
        self.state = state
        self.warnings = warnings
    }
}

extension HandlerEntry: Record {
    package static let fields = FieldList(
        initial: HandlerEntry(
            id: "",
            name: "",
            executable: "",
            schemes: [],
            kind: .absent,
            isFixed: false,
            state: .absent,
            warnings: []
        ),
        incomplete: "a handler without an id",
        Field(
            "id",
            { $0.id },
            { $0.id = $1 },
            isRequired: true,
            "The bundle identifier, or the name of the desktop file."
        ),
        Field(
            "name",
            { $0.name },
            { $0.name = $1 },
            orElse: { $0.id },
            "The name to show to people; without the key, the `id` is used."
        ),
        Field(
            "manifest",
            { $0.manifest },
            { $0.manifest = $1 },
            "The path of the manifest; absent for an application."
        ),
        Field(
            "bundle",
            { $0.bundle },
            { $0.bundle = $1 },
            "The path of the bundle that has the manifest; absent for a bare manifest and for an application."
        ),
        Field(
            "desktop-entry",
            { $0.desktopEntry },
            { $0.desktopEntry = $1 },
            "The path of the desktop file; absent for a handler."
        ),
        Field(
            "executable",
            { $0.executable },
            { $0.executable = $1 },
            "The program, as the manifest names it; empty for the desktop's default application."
        ),
        Field("schemes", { $0.schemes }, { $0.schemes = $1 }, "The schemes that the handler claims."),
        Field(
            "types",
            { $0.types },
            { $0.types = $1 },
            omitting: [],
            "The MIME types of the files that the handler claims, and patterns for file names, such as `*.todo`."
        ),
        Field(
            "domains",
            { $0.domains },
            { $0.domains = $1 },
            omitting: [],
            "The sites whose `https` links the handler opens if a proof allows it, such as `example.com/notes/*`."
        ),
        Field(
            "url-names",
            { $0.urlNames },
            { $0.urlNames = $1 },
            "The names of the schemes in the user's language, by their abstract names (`CFBundleURLName`)."
        ),
        Field(
            "type-names",
            { $0.typeNames },
            { $0.typeNames = $1 },
            omitting: [:],
            "The names of the kinds of files in the user's language, by their abstract names (`CFBundleTypeName`)."
        ),
        Field(
            "launch-image",
            { $0.launchImage },
            { $0.launchImage = $1 },
            "The path of the image that is shown during a launch, or an empty string."
        ),
        Field("kind", { $0.kind }, { $0.kind = $1 }, "The way in which the handler gets URLs."),
        Field(
            "reach",
            { $0.reach },
            { $0.reach = $1 },
            "The programs that may send URLs to the handler; an empty string for an application."
        ),
        Field("fixed", { $0.isFixed }, { $0.isFixed = $1 }, "Whether no other handler can take the schemes over."),
        Field(
            "temporary",
            { $0.temporary },
            { $0.temporary = $1 },
            omitting: .absent,
            "Why the handler is registered only temporarily; in JSON, an empty string if it is not."
        ),
        Field(
            "state",
            { $0.state },
            { $0.state = $1 },
            "The state of the handler; an empty string for an application."
        ),
        Field(
            "warnings",
            { $0.warnings },
            { $0.warnings = $1 },
            "Notes for people to read, such as which claims another handler wins."
        ),
        Field(
            "cut",
            { $0.isCut },
            { $0.isCut = $1 },
            omitting: false,
            "Whether the list leaves out the schemes and everything else that the manifest says, for lack of room."
        )
    )
}
