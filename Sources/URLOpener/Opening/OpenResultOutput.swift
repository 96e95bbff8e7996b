internal import OpenURLBus
internal import Translations

extension OpenResult {
    /// Returns the result as lines for people to read.
    ///
    /// The first line gives the handler, the request, and the way in which the URL reached the handler. Each further
    /// line gives a step and the milliseconds since the router accepted the URL. If the reply has values, the last line
    /// gives them.
    package func traceLines(of url: String) -> [String] {
        let number = id.map { " \($0.printable)" } ?? ""
        let origin = isVerified ? "" : ", \(translated("started by hand"))"
        // A queued URL is known by its number, unless the caller has given the request an ID.
        let request = requestID.flatMap { $0 == id ? nil : ", \(translated("request \($0.printable)"))" } ?? ""
        let title = "\(url.printable): \(handler.printable) (\(way.rawValue)\(number)\(origin)\(request))"
        let answer = reply.isEmpty ? [] : ["    \(translated("reply \(replyJSON.text.printable)"))"]
        return [title]
            + trace.map { phase in
                let tenths = phase.microseconds / 100 + (phase.microseconds % 100 + 50) / 100
                let milliseconds = "\(tenths / 10).\(tenths % 10)"
                let padding = String(repeating: " ", count: max(0, 8 - milliseconds.count))
                return
                    "\(padding)\(milliseconds) ms  \(phase.name.printable)\(phase.answer ? "" : "  \(translated("no"))")"
            } + answer
    }

    /// Returns the URL or file together with the result, as an object without empty keys.
    package func json(of url: String, as key: String = "url") -> JSON {
        .object([(name: key, value: .string(url))] + jsonMembers)
    }

    /// A queued URL's result as an object without empty keys.
    package var json: JSON { .object(jsonMembers) }

    /// The handler's reply as an object.
    package var replyJSON: JSON {
        .object(reply.sorted { $0.key < $1.key }.map { (name: $0.key, value: JSON($0.value)) })
    }

    private var jsonMembers: [(name: String, value: JSON)] {
        members.compactMap { member in member.content.map { (name: member.key, value: JSON($0)) } }
    }
}
