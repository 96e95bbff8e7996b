internal import DBus

/// A handler's claim on the links to a host, and the proof for it, as ``ProofsInterface/list`` returns it.
public struct LinkProof: Sendable, Hashable {
    /// The proof that a handler may have the links.
    public enum Origin: String, Sendable, Hashable, CaseIterable {
        /// The person has allowed it.
        case person
        /// The administrator has installed the handler.
        case administrator
        /// The site's file names the handler.
        case site
        /// Nothing, so the browser gets the links.
        case nothing = "none"
    }

    /// The person's decision.
    public enum Decision: String, Sendable, Hashable, CaseIterable {
        /// The handler gets the links.
        case allow
        /// The handler gets no links to the host, whatever the proofs say.
        case deny
    }

    /// The handler's bundle identifier.
    public var handler: String
    /// The host, in lower case.
    public var host: String
    /// The path of the handler's manifest. A proof is for this manifest only.
    public var manifest: String
    /// The proof. It is not stored, because it depends on the time and on the registry.
    public var origin = Reported<Origin>.known(.nothing)
    /// The person's decision; nil if there is none.
    public var decision: Decision?
    /// The paths that the site's file gives to the handler: lines of `+` or `-`, a space and a pattern, of which the first
    /// that matches decides.
    public var rules: [String] = []
    /// Whether the site gives its links only to a handler that the administrator has installed.
    public var isForAdministratorsOnly = false
    /// When the site last named the handler, in milliseconds since 1970; nil if its last answer didn't.
    public var confirmed: UInt64?
    /// When the site was last asked, in milliseconds since 1970; nil if it never was.
    public var asked: UInt64?
    /// Number of attempts to ask the site that have failed since its last answer.
    public var failures: UInt32 = 0
    /// Why the site's file proves nothing, or why the site could not be asked; nil if there is no problem.
    public var problem: String?

    /// Creates a claim without a proof.
    public init(handler: String, host: String, manifest: String) {
        self.handler = handler
        self.host = host
        self.manifest = manifest
    }
}

extension LinkProof: Record {
    package static let fields = FieldList(
        initial: LinkProof(handler: "", host: "", manifest: ""),
        incomplete: "a proof without a handler, a host or a manifest",
        Field("handler", { $0.handler }, { $0.handler = $1 }, isRequired: true, "The identifier of the handler."),
        Field("host", { $0.host }, { $0.host = $1 }, isRequired: true, "The host, in lower case."),
        Field(
            "manifest",
            { $0.manifest },
            { $0.manifest = $1 },
            isRequired: true,
            "The path of the handler's manifest, for which the proof is."
        ),
        Field("proof", { $0.origin }, { $0.origin = $1 }, "What proves that the handler may have the links."),
        Field(
            "decision",
            { $0.decision },
            { $0.decision = $1 },
            "The person's decision; without the key, there is none."
        ),
        Field(
            "rules",
            { $0.rules },
            { $0.rules = $1 },
            omitting: [],
            "The paths that the site gives to the handler: `+` or `-`, a space and a pattern; the first that matches decides."
        ),
        Field(
            "administrators-only",
            { $0.isForAdministratorsOnly },
            { $0.isForAdministratorsOnly = $1 },
            omitting: false,
            "Whether the site gives its links only to a handler that the administrator has installed."
        ),
        Field(
            "confirmed",
            { $0.confirmed },
            { $0.confirmed = $1 },
            "The time when the site last named the handler, in milliseconds since 1970."
        ),
        Field(
            "asked",
            { $0.asked },
            { $0.asked = $1 },
            "The time when the site was last asked, in milliseconds since 1970."
        ),
        Field(
            "failures",
            { $0.failures },
            { $0.failures = $1 },
            omitting: 0,
            "The number of attempts to ask the site that have failed since its last answer."
        ),
        Field(
            "problem",
            { $0.problem },
            { $0.problem = $1 },
            "Why the site's file proves nothing, or why the site could not be asked."
        )
    )
}

extension LinkProof.Origin: Word {}

extension LinkProof.Decision: Word {
    package static func problem(with word: String) -> String {
        "'\(word)' is not a decision; it must be allow, deny or an empty string"
    }
}
