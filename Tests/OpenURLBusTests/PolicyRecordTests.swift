import DBus
import OpenURLBus
import Testing

/// The round trips of the policy's rules, answers and questions.
@Suite struct PolicyRecordTests {
    @Test func roundTripKeepsARule() throws {
        var rule = PolicyRule(
            source: "sandboxed",
            scheme: "tel",
            host: nil,
            decision: .deny,
            file: "/etc/openurl/policy.d/a.conf",
            line: 3,
            isUsers: false
        )
        #expect(try recoded(rule) == rule)
        rule.host = "*.acme.com"
        rule.isUsers = true
        rule.standsForProblem = true
        #expect(
            try recoded(rule, as: [String: Value].self) == [
                "source": "sandboxed", "scheme": "tel", "host": "*.acme.com", "decision": "deny",
                "file": "/etc/openurl/policy.d/a.conf", "line": .uint32(3), "changeable": true,
                "stands-for-problem": true,
            ]
        )
        let required: [String: Value] = ["source": "user", "scheme": "*", "decision": "ask"]
        for key in required.keys {
            let rest = required.filter { $0.key != key }
            #expect(try problem(rest, as: PolicyRule.self) == "a rule without a source, a scheme or a decision")
        }
        #expect(
            try problem(required.merging(["decision": "perhaps"]) { $1 }, as: PolicyRule.self)
                == "'perhaps' is not a decision; a decision is allow, ask or deny"
        )
    }

    @Test func roundTripKeepsAnAnswer() throws {
        var answer = PolicyAnswer(
            source: "host:laptop",
            scheme: "tel",
            host: "a",
            handler: "com.acme.app",
            decision: .allow,
            date: 1_700_000_000
        )
        #expect(try recoded(answer) == answer)
        answer.uses = 2
        answer.lastUse = 1_700_000_001
        #expect(
            try recoded(answer, as: [String: Value].self) == [
                "source": "host:laptop", "scheme": "tel", "host": "a", "handler": "com.acme.app", "decision": "allow",
                "date": .uint64(1_700_000_000), "uses": .uint32(2), "last-use": .uint64(1_700_000_001),
            ]
        )
    }

    @Test func roundTripKeepsAQuestion() throws {
        let question = PolicyQuestion(url: "a:b", sender: "x", handler: "y", permission: "key", isMemorable: true)
        #expect(
            try recoded(question, as: [String: Value].self) == [
                "url": "a:b", "sender": "x", "handler": "y", "permission": "key", "memorable": true,
            ]
        )
        #expect(try recoded(question) == question)
    }

    @Test func roundTripKeepsTheOptionsOfAQuestion() throws {
        var options = OpenOptions()
        options.asksAtTerminal = true
        options.permission = "key"
        #expect(
            try recoded(options, as: [String: Value].self) == ["asks-at-terminal": true, "permission": "key"]
        )
        #expect(try recoded(options) == options)
    }
}
