/// Something that ``RegistryInterface/check`` found in a manifest.
public struct ManifestFinding: Sendable, Hashable {
    /// A finding's severity.
    public enum Severity: String, Sendable, Hashable, CaseIterable {
        /// The handler cannot be registered.
        case error
        /// The handler can be registered, but something will not work or is ignored.
        case warning
    }

    /// This finding's severity.
    public var severity: Reported<Severity>
    /// Path of the file; nil if this is not about a file.
    public var file: String?
    /// Line in the file, counted from 1; nil if it is not known.
    public var line: UInt32?
    /// Path of the key, such as `CFBundleURLTypes[0].CFBundleURLSchemes`; nil if this is about the whole file.
    public var key: String?
    /// The finding, worded to follow the key.
    public var message: String

    /// Creates a finding.
    public init(_ severity: Severity, file: String?, line: UInt32? = nil, key: String? = nil, message: String) {
        self.severity = .known(severity)
        self.file = file
        self.line = line
        self.key = key
        self.message = message
    }
}

extension ManifestFinding: Record {
    package static let fields = FieldList(
        initial: ManifestFinding(.error, file: nil, message: ""),
        incomplete: "a finding without a message",
        Field(
            "severity",
            { $0.severity },
            { $0.severity = $1 },
            isRequired: true,
            "Whether the finding keeps the handler from being registered."
        ),
        Field("file", { $0.file }, { $0.file = $1 }, "The path of the file."),
        Field("line", { $0.line }, { $0.line = $1 }, "The line of the file, counted from 1."),
        Field(
            "key",
            { $0.key },
            { $0.key = $1 },
            "The path of the key, such as `CFBundleURLTypes[0].CFBundleURLSchemes`."
        ),
        Field(
            "message",
            { $0.message },
            { $0.message = $1 },
            isRequired: true,
            "The finding, worded to follow the key."
        )
    )
}
