internal import Desktop
internal import OpenURLBus
internal import Policy
internal import RFC1808
internal import SchemeRegistry
internal import Translations
internal import UserFiles

/// A question to the user: may this sender open this URL with this handler?
struct PolicyDialog: Sendable {
    /// The URL in full.
    let url: String
    /// The URL for display: in printable ASCII, and shortened if it is long.
    let shownURL: String
    /// ``shownURL`` without what may be a secret, for programs whose arguments every user can read.
    let publicURL: String
    /// The callers and URLs for which the answer can be remembered, and the handler.
    let key: RememberedAnswer.Key
    /// The application that the question counts towards.
    let account: String
    /// Whether the answer can be remembered for later URLs.
    let isMemorable: Bool
    /// The verified sender, in printable ASCII.
    let sender: String
    /// Name and identifier of the handler, in printable ASCII.
    let handler: String
    /// How the URL can be allowed without a question, in a clause.
    private let advice: String

    init(_ destination: Destination, from source: OpenContext.Source, advice: String) {
        self.advice = advice
        let caller = PolicyCaller(source)
        url = destination.url.description
        shownURL = destination.url.shownText
        publicURL = destination.url.publicText
        // By now, the URL has a scheme.
        let parts = destination.policyURL
        key = RememberedAnswer.Key(
            pattern: parts?.pattern(from: caller.source)
                ?? PolicyPattern(source: caller.source, scheme: nil, host: nil),
            handler: destination.claimant.id
        )
        account = source.account
        // For a copy in an inbox, the pattern would be that of all files.
        isMemorable = source.isMemorable && parts?.hasExactPattern == true && !destination.isInInbox
        sender = source.words
        handler = destination.claimant.words
    }

    /// Returns whether one answer serves both questions: the same program asks to open the same URL with the same
    /// handler. An answer therefore never covers more than one URL.
    func isSame(as other: PolicyDialog) -> Bool {
        key == other.key && account == other.account && url == other.url
    }

    /// The question's title.
    var title: String { translated("Open this address?") }

    /// The question in words, without the URL.
    ///
    /// The user's programs cannot be told apart safely, so if an answer is remembered, it applies to all of them.
    var text: String {
        let question = translated("\(sender) wants to open this address with \(handler):")
        let isForAll = isMemorable && key.pattern.source == .callers(.user)
        guard isForAll else { return question }
        return translated("If the answer is remembered, it applies to all your programs outside sandboxes. \(question)")
    }

    /// Returns the error for a URL that was not opened, including the command that allows it.
    func refusal(_ reason: String) -> OpenURLError {
        OpenURLError(.notAllowed, "\(reason); \(advice)")
    }
}

/// Returns a string in printable ASCII and without angle brackets, because some dialogs take these for markup and some
/// do not.
private func shown(_ text: String) -> String {
    String(printable(text).map { $0 == "<" ? "(" : $0 == ">" ? ")" : $0 })
}

extension OpenContext.Source {
    /// Describes the program that a URL comes from, for the user.
    var words: String {
        let name = application.map(shown)
        switch callerClass.known {
        case .handler: return translated("The handler \(name ?? "")")
        case .sandboxed:
            return name.map { translated("The sandboxed application \($0)") }
                ?? translated("A sandboxed program without a name")
        case .remote:
            if let container { return translated("The container \(shown(container))") }
            return host.map { translated("The computer \(shown($0))") } ?? translated("Another computer")
        case .user:
            return executable.map { translated("The program \(shown($0))") } ?? translated("One of your programs")
        case .unknown, nil: return translated("A program that has exited")
        }
    }
}

extension Claimant {
    /// Describes the handler or application, for the user.
    fileprivate var words: String {
        let name =
            switch self {
            case .handler(let handler): handler.name
            case .application(let application): application.name
            }
        return name == id ? shown(id) : "\(shown(String(name.prefix(80)))) (\(shown(id)))"
    }
}

extension GenericURL {
    /// Maximum length of a URL that is shown in full.
    private static let shownLength = 400

    /// The URL in printable ASCII. If it is long, it is shortened in the middle; its scheme and host stay, but not the
    /// user name in front of the host, because it could be mistaken for the host.
    fileprivate var shownText: String {
        let text = printable(String(description.prefix(8 * Self.shownLength)))
        guard description.utf8.count > Self.shownLength else { return text }
        let rest = opaquePart ?? path
        return "\(shownOrigin)\(printable(String(rest.prefix(60))))[...]\(printable(String(description.suffix(60))))"
    }

    /// The URL as ``shownText`` shows it, with `...` in place of the parts that the log leaves out. The whole host stays, even
    /// if the log leaves out some of it.
    fileprivate var publicText: String {
        let text = RedactedURL(self).text.replacing(RedactedURL.mark, with: "...")
        if text.utf8.count <= Self.shownLength, text.hasPrefix(origin) { return printable(text) }
        return "\(shownOrigin)[...]\(printable(String(text.suffix(60))))"
    }

    private var origin: String {
        host.map { "\(scheme ?? "")://\(user == nil ? "" : "...@")\($0)" } ?? "\(scheme ?? ""):"
    }

    /// The scheme and the host. Of a long host, the end is kept, because it says whose host this is.
    private var shownOrigin: String {
        let origin = origin
        return printable(origin.count > 300 ? "\(origin.prefix(100))[...]\(origin.suffix(195))" : origin)
    }
}
