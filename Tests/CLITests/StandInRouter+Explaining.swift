import DBus
import OpenURLBus

/// The stand-in's explanations, by the scheme of the URL.
///
/// | URL | explanation |
/// |---|---|
/// | `full:` | every part, a handler and two candidates; for a class of senders also a decision |
/// | `private:` | a handler that does not accept URLs from the test, and that crashed too often |
/// | `odd:` | text with controls, which must not reach a terminal |
/// | `newer:` | an error that this version does not know |
/// | `error:CODE` | none: the ``OpenURLError`` with the code |
/// | `bus:NAME` | none: the D-Bus error with the name |
/// | any other | the user's default for the scheme, or the error for a missing handler |
extension StandInRouter {
    func explain(_ url: String, _ options: OpenOptions) throws -> Explanation {
        let parts = url.split(separator: ":", maxSplits: 1).map(String.init)
        let argument = parts.count > 1 ? parts[1] : ""
        var explanation = Explanation(url: url)
        explanation.parts = ["scheme": parts[0], "path": argument]
        switch parts[0] {
        case "error":
            throw OpenURLError(OpenURLError.Code(rawValue: argument) ?? .declined, "com.acme.todolist \u{1B}[31mtold")
        case "bus": throw RemoteError(ErrorName(argument) ?? .failed, "the bus told")
        case "full": Self.fill(&explanation, options)
        case "private":
            explanation.handler = "com.acme.private"
            explanation.transport = .known(.native)
            explanation.state = .known(.notRunning)
            explanation.quarantinedUntil = 86_400
            explanation.programProblem = "/opt/\u{1B}private does not exist"
            explanation.reach = .known(.listed)
            explanation.allowedSources = ["com.acme.*", "com.other.app"]
            explanation.answersCallbacks = true
            explanation.decision = .known(.deny)
            explanation.decisionReason = "a rule"
            explanation.candidates = [
                Explanation.Candidate(
                    id: "com.acme.private",
                    kind: .known(.native),
                    host: nil,
                    wins: true,
                    reason: "alone"
                )
            ]
            explanation.error = (OpenURLError.Code.notAllowed.errorName.rawValue, "it takes no URLs from here")
        case "odd":
            explanation.parts["path"] = "\u{1B}[2J"
            explanation.handler = "com.acme.\u{202E}odd\t"
            explanation.candidates = [
                Explanation.Candidate(
                    id: "\u{7}a",
                    kind: .unknown("na\tive"),
                    host: "\n",
                    wins: true,
                    reason: "\u{1B}[31mred"
                )
            ]
        case "newer": explanation.error = ("org.openurl.Error.NewerThanThis", "the router told")
        default:
            explanation.handler = defaults[parts[0]]
            guard explanation.handler == nil else { break }
            let name = OpenURLError.Code.noHandler.errorName.rawValue
            explanation.error = (name, "nobody takes \(parts[0]): \u{1B}[31mtold")
        }
        return explanation
    }

    private static func fill(_ explanation: inout Explanation, _ options: OpenOptions) {
        explanation.parts = [
            "scheme": "full", "user": "u", "host": "a.example.com", "port": "8", "path": "/p", "parameters": "q",
            "query": "r", "fragment": "",
        ]
        explanation.handler = options.handler ?? "com.acme.todolist"
        explanation.transport = .known(.native)
        explanation.state = .known(.active)
        if let senderClass = options.senderClass {
            explanation.decision = .known(.ask)
            explanation.decisionReason = "a rule from \(senderClass.rawValue)"
        }
        explanation.candidates = [
            Explanation.Candidate(
                id: "com.acme.todolist",
                kind: .known(.native),
                host: "*.example.com",
                wins: true,
                reason: "the host"
            ),
            Explanation.Candidate(id: "b.desktop", kind: .known(.exec), host: nil, wins: false, reason: "the \"kind\""),
        ]
    }

    /// Records the user's choice. There is no handler `nobody`, and the handler of `locked` cannot be chosen.
    func setDefault(_ scheme: String, _ id: String) throws {
        guard id != "nobody" else {
            throw RemoteError(.invalidArguments, "there is no handler or application called nobody")
        }
        guard scheme != "locked" else { throw RemoteError(.failed, "mimeapps.list cannot be written") }
        defaults[scheme] = id.isEmpty ? "com.acme.first" : id
        // The scheme `chosen` has no other handler than the user's choice.
        if id.isEmpty, scheme == "chosen" { defaults[scheme] = nil }
        choices.append("\(scheme)=\(id)")
    }
}
