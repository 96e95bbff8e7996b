public import DBus

/// `org.openurl.Policy1`, at the router's object: the rules that allow, ask about or deny a URL, and the answers that
/// the router remembers.
///
/// Only the user's programs that are not confined may call it; every other caller gets the error
/// ``OpenURLError/Code/notAllowed``.
///
/// A pattern is a source, a scheme and a host:
///
/// - The source is a handler's or a sandbox's identifier, such as `com.acme.todolist`; a prefix, such as `com.acme.*`;
///   an identifier of any form, such as `app:firefox`; a raw value of ``CallerClass``; a host, such as `host:laptop`;
///   or `*`.
/// - The scheme is a scheme or `*`.
/// - The host is a host, `*.` followed by a host, or an empty string, which stands for every host.
///
/// If a part has any other form, the error is `org.freedesktop.DBus.Error.InvalidArgs`.
///
/// The administrator's rules come first. Among the rules that match, the most specific one decides: judged first by its
/// source, then by its scheme, then by its host. If several have the same pattern, `deny` wins, then `ask`. If no rule
/// matches, the URL is allowed, but the router asks about URLs from other hosts, and about URLs for a handler whose
/// manifest says so (`OUAsk`).
public enum PolicyInterface {
    /// Name of the interface.
    public static let name: InterfaceName = "org.openurl.Policy1"

    /// Returns the rules in the order of their files and lines, the administrator's first, and the problems in the
    /// files: a line of text for each part of a file that is not used.
    public static let rules = Method<Empty, Arguments<[PolicyRule], [String]>>(
        name,
        "Rules",
        outputs: ["rules", "problems"]
    )
    /// Writes a rule into the user's file, replacing the user's earlier rule for the pattern. The last argument is a
    /// raw value of ``PolicyDecision``. This fails if one of the administrator's rules already decides about all URLs
    /// that match the pattern.
    public static let set = Method<Arguments<String, String, String, String>, Empty>(
        name,
        "Set",
        inputs: ["source", "scheme", "host", "decision"]
    )
    /// Removes the rule for a pattern from the user's file. Fails if the file has no such rule.
    public static let remove = Method<Arguments<String, String, String>, Empty>(
        name,
        "Remove",
        inputs: ["source", "scheme", "host"]
    )
    /// Removes every rule from the user's file. Comments are kept.
    public static let reset = Method<Empty, Empty>(name, "Reset")
    /// Returns the remembered answers, the latest first.
    public static let answers = Method<Empty, [PolicyAnswer]>(name, "Answers", outputs: ["answers"])
    /// Forgets the remembered answers for a pattern, or for a part of it: an empty source or scheme stands for all.
    /// Returns how many it forgot.
    public static let forget = Method<Arguments<String, String, String>, UInt32>(
        name,
        "Forget",
        inputs: ["source", "scheme", "host"],
        outputs: ["count"]
    )
    /// Returns the question that opening the URL would raise now, for a caller that asks the user at its own terminal.
    /// With the question comes a permission, which opens exactly this URL on this connection once, within
    /// ``permissionLifetime``.
    ///
    /// If the URL would raise no question, the error is ``OpenURLError/Code/notAllowed``.
    public static let question = Method<Arguments<String, OpenOptions>, PolicyQuestion>(
        name,
        "Question",
        inputs: ["url", "options"],
        outputs: ["question"]
    )
    /// Remembers the answer to a question from ``question``. The question's permission stays as it is.
    public static let remember = Method<Arguments<String, Bool>, Empty>(
        name,
        "Remember",
        inputs: ["permission", "is_allowed"]
    )

    /// How long a permission can be used.
    public static let permissionLifetime = Duration.seconds(300)
}
