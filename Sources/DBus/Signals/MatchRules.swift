/// The match rules that a connection has on the bus.
struct MatchRules {
    struct Rule {
        var users = 0
        /// The request to the bus. All users of the rule wait for this one request, and none of them can cancel it.
        let added: Request
    }

    typealias Request = Task<Result<Void, CallError>, Never>

    /// The rules by their bytes, because the bus compares bytes and Swift's `String` compares by canonical equivalence.
    private(set) var rules: [[UInt8]: Rule] = [:]

    /// Adds a user of a rule.
    ///
    /// - Parameter request: Begins the request to the bus. It is called for the first user only.
    /// - Returns: The request.
    mutating func add(_ text: String, _ request: () -> Request) -> Request {
        let key = Array(text.utf8)
        let added = rules[key]?.added ?? request()
        rules[key, default: Rule(added: added)].users += 1
        return added
    }

    /// Removes a user of a rule.
    ///
    /// - Returns: Whether the user was the last one, so that the bus has to remove the rule.
    mutating func remove(_ text: String) -> Bool {
        let key = Array(text.utf8)
        guard let users = rules[key]?.users else { return false }
        if users == 1 { rules[key] = nil } else { rules[key]?.users = users - 1 }
        return users == 1
    }
}
