import OpenURLBus
import Policy
import Testing

/// The answers that are remembered.
@Suite struct RememberedAnswersTests {
    private func answer(_ urls: String, _ source: String, _ handler: String, date: UInt64 = 100) throws
        -> RememberedAnswer
    {
        let pattern = try PolicyPattern(urls: urls, source: source)
        return RememberedAnswer(RememberedAnswer.Key(pattern: pattern, handler: handler), isAllowed: true, date: date)
    }

    @Test func textIsReadAgain() throws {
        var answers = RememberedAnswers()
        let first = try answer("tel://a", "org.example.App", "com.acme.app")
        answers.add(first)
        answers.add(try answer("x", "host:laptop", "My App.desktop", date: 200))
        answers.use(first.key, at: 300)
        #expect(
            answers.text == """
                allow\tx\thost:laptop\t200\t0\t200\tMy App.desktop
                allow\ttel://a\torg.example.App\t100\t1\t300\tcom.acme.app

                """
        )
        #expect(RememberedAnswers(text: answers.text) == answers)
    }

    @Test(arguments: [
        "", "allow", "ask\tx\tuser\t1\t1\t1\ta", "allow\tx\tusers\t1\t1\t1\ta", "allow\tx\tuser\t-1\t1\t1\ta",
        "allow\tx\tuser\t99999999999999999999\t1\t1\ta", "allow\tx\tuser\t1\t1\ta",
    ])
    func damagedLineIsLeftOut(_ line: String) throws {
        let good = "deny\tx\tuser\t18446744073709551615\t4294967295\t1\ta\n"
        var answers = RememberedAnswers(text: "\(line)\n\(good)")
        #expect(answers.all.count == 1)
        let key = try #require(answers.all.first?.key)
        answers.use(key, at: 5)
        #expect(answers[key]?.uses == .max)
    }

    @Test func answersAreBounded() throws {
        var answers = RememberedAnswers()
        let kept = try answer("kept", "user", "a", date: 0)
        answers.add(kept)
        answers.use(kept.key, at: 10_000)
        for number in 1...RememberedAnswers.limit {
            answers.add(try answer("x\(number)", "user", "a", date: UInt64(number)))
        }
        #expect(answers.all.count == RememberedAnswers.limit)
        #expect(answers[kept.key] != nil)
        #expect(answers[try answer("x1", "user", "a").key] == nil)
    }

    @Test func answerIsForOneHandler() throws {
        var answers = RememberedAnswers()
        answers.add(try answer("x", "user", "a"))
        #expect(answers[try answer("x", "user", "b").key] == nil)
        let count = answers.forget { $0.key.handler == "a" }
        #expect(count == 1)
        #expect(answers.isEmpty)
        // A line break in the name of an entry must not add an answer.
        answers.add(try answer("x", "user", "a\nallow\t*\t*\t1\t1\t1\tb"))
        #expect(answers.isEmpty)
    }

    @Test func nothingIsRememberedForUnknownCallers() {
        #expect(PolicyCaller(.user).isMemorable)
        #expect(PolicyCaller(.handler, name: "com.acme.app").isMemorable)
        #expect(PolicyCaller(.sandboxed, name: "com.acme.app").isMemorable)
        #expect(PolicyCaller(.remote, name: "laptop").isMemorable)
        #expect(PolicyCaller(.remote, container: "devbox").isMemorable)
        #expect(!PolicyCaller(.unknown, name: "com.acme.app").isMemorable)
        #expect(!PolicyCaller(.sandboxed).isMemorable)
        #expect(!PolicyCaller(.sandboxed, name: "two words").isMemorable)
        #expect(!PolicyCaller(.remote).isMemorable)
    }
}
