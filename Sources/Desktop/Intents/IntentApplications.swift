/// The installed applications that implement intents, in the order in which they are preferred.
///
/// An application implements an intent if its entry says so. If several files have the same ID, only the first one
/// counts, as the Desktop Entry Specification says about IDs, so an unusable file hides the later ones.
public struct IntentApplications: Sendable {
    /// The order of the applications for an intent, and the reasons for it.
    public struct Decision: Sendable, Hashable {
        /// The applications, the best first. The first one is the default.
        public var candidates: [Candidate] = []
        /// The lines that name an application which cannot be used, in order of precedence.
        public var rejections: [Rejection] = []
    }

    /// An application that implements an intent.
    public struct Candidate: Sendable, Hashable {
        /// The application.
        public let entry: DesktopEntry
        /// The declaration in the application's entry.
        public let declaration: ImplementedIntent
        /// The line that prefers the application; `nil` if no file does.
        public let choice: IntentChoice?
        /// Whether the line is about the intent as a whole, although a scope is looked for.
        public let isForWholeIntent: Bool
    }

    /// A line that has no effect.
    public struct Rejection: Sendable, Hashable {
        /// Why an application cannot be used.
        public enum Reason: Sendable, Hashable {
            /// There is no usable entry with this ID.
            case notInstalled
            /// The entry does not implement the intent.
            case notImplemented
            /// The entry does not support the scope.
            case notSupported
        }

        /// The line.
        public let choice: IntentChoice
        /// The reason.
        public let reason: Reason
    }

    /// The choices that order the applications.
    public let choices: IntentChoices

    private let entries: [DesktopFileID: DesktopEntry]
    /// The implementations of each intent, ordered by precedence, then by ID.
    private let implementations: [Intent: [(entry: DesktopEntry, declaration: ImplementedIntent)]]

    /// Combines entries with choices.
    public init(entries: DesktopEntries, choices: IntentChoices) {
        self.choices = choices
        self.entries = entries.entries.filter { entries.isFirstFile(of: $0.key, in: $0.value.precedence) }
        var implementations: [Intent: [(entry: DesktopEntry, declaration: ImplementedIntent)]] = [:]
        for entry in self.entries.values.sorted(by: { ($0.precedence, $0.id) < ($1.precedence, $1.id) }) {
            for declaration in entry.intents {
                implementations[declaration.intent, default: []].append((entry, declaration))
            }
        }
        self.implementations = implementations
    }

    /// All intents that an installed application implements, in byte order.
    public var intents: [Intent] { implementations.keys.sorted() }

    /// Returns the scopes of an intent that at least one application supports, in byte order.
    public func scopes(of intent: Intent) -> [IntentScope] {
        Set(implementations[intent, default: []].flatMap(\.declaration.scopes)).sorted()
    }

    /// Returns the default application for an intent, or for one of its scopes.
    public func defaultApplication(for intent: Intent, scope: IntentScope? = nil) -> DesktopEntry? {
        decision(for: intent, scope: scope).candidates.first?.entry
    }

    /// Decides about an intent, or about one of its scopes.
    ///
    /// The applications that the files name come first, in the order of the files and of their lists. For a scope,
    /// those named for the intent as a whole follow. All others come after them, ordered by directory, then by ID. The
    /// draft leaves this order to the implementation, and requires only that it is always the same.
    public func decision(for intent: Intent, scope: IntentScope? = nil) -> Decision {
        var decision = Decision()
        var seen: Set<DesktopFileID> = []
        func append(_ entry: DesktopEntry, _ choice: IntentChoice?, isForWholeIntent: Bool) -> Rejection.Reason? {
            guard let declaration = entry.intents.first(where: { $0.intent == intent }) else { return .notImplemented }
            if let scope, !declaration.scopes.contains(scope) { return .notSupported }
            guard seen.insert(entry.id).inserted else { return nil }
            decision.candidates.append(
                Candidate(entry: entry, declaration: declaration, choice: choice, isForWholeIntent: isForWholeIntent)
            )
            return nil
        }
        for isForWholeIntent in scope == nil ? [false] : [false, true] {
            for choice in choices.choices(for: intent, scope: isForWholeIntent ? nil : scope) {
                let reason =
                    entries[choice.id].map { append($0, choice, isForWholeIntent: isForWholeIntent) } ?? .notInstalled
                if let reason { decision.rejections.append(Rejection(choice: choice, reason: reason)) }
            }
        }
        for (entry, _) in implementations[intent, default: []] { _ = append(entry, nil, isForWholeIntent: false) }
        return decision
    }
}
