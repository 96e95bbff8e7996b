internal import OpenURLBus
internal import UserFiles

/// A user's answer that also applies to later URLs.
package struct RememberedAnswer: Sendable, Hashable {
    /// The URLs and callers to which an answer applies, and the handler that gets the URLs.
    package struct Key: Sendable, Hashable {
        package let pattern: PolicyPattern
        /// Identifier of the handler or application. An answer does not apply to another handler for the scheme.
        package let handler: String

        package init(pattern: PolicyPattern, handler: String) {
            self.pattern = pattern
            self.handler = handler
        }
    }

    package let key: Key
    /// Whether the answer was yes.
    package let isAllowed: Bool
    /// The time of the answer, in seconds since 1970.
    package let date: UInt64
    /// The number of URLs about which the answer has decided since then.
    package var uses: UInt32 = 0
    /// The time of the last use, in seconds since 1970; before the first use, the time of the answer.
    package var lastUse: UInt64

    package init(_ key: Key, isAllowed: Bool, date: UInt64) {
        self.key = key
        self.isAllowed = isAllowed
        self.date = date
        lastUse = date
    }
}

/// All remembered answers, up to the ``limit``. Beyond that, a new answer replaces the one that has been unused the
/// longest.
package struct RememberedAnswers: Sendable, Hashable {
    /// Maximum number of answers.
    package static let limit = 1000
    /// Maximum size of a file of answers in bytes.
    package static let maximumSize = 1 << 20

    private var answers: [RememberedAnswer.Key: RememberedAnswer] = [:]

    package init() {}

    /// Whether there are no answers.
    package var isEmpty: Bool { answers.isEmpty }

    /// The answers, the latest first.
    package var all: [RememberedAnswer] {
        answers.values.sorted {
            ($1.date, $0.key.pattern.description, $0.key.handler) < (
                $0.date, $1.key.pattern.description, $1.key.handler
            )
        }
    }

    package subscript(key: RememberedAnswer.Key) -> RememberedAnswer? { answers[key] }

    /// Adds an answer, replacing an earlier one for the same key.
    package mutating func add(_ answer: RememberedAnswer) {
        // A desktop entry can have any name, but in the file each answer is one line.
        guard !answer.key.handler.unicodeScalars.contains(where: isMisleading) else { return }
        answers[answer.key] = answer
        guard answers.count > Self.limit else { return }
        let oldest = answers.values.min { $0.lastUse < $1.lastUse }
        if let oldest { answers[oldest.key] = nil }
    }

    /// Counts a use of an answer.
    package mutating func use(_ key: RememberedAnswer.Key, at time: UInt64) {
        guard let uses = answers[key]?.uses else { return }
        answers[key]?.uses = uses &+ (uses == .max ? 0 : 1)
        answers[key]?.lastUse = time
    }

    /// Forgets the answers for which a condition holds.
    ///
    /// - Returns: the number of answers that were forgotten.
    package mutating func forget(where isForgotten: (RememberedAnswer) -> Bool) -> Int {
        let forgotten = answers.values.filter(isForgotten)
        for answer in forgotten { answers[answer.key] = nil }
        return forgotten.count
    }

    // MARK: The file

    /// The answers as a file's text: one line for each, with tabs between the fields.
    package var text: String {
        all.map { answer in
            let fields = [
                answer.isAllowed ? PolicyDecision.allow.rawValue : PolicyDecision.deny.rawValue,
                answer.key.pattern.urls,
                answer.key.pattern.source.description, "\(answer.date)", "\(answer.uses)", "\(answer.lastUse)",
                answer.key.handler,
            ]
            return fields.joined(separator: "\t") + "\n"
        }.joined()
    }

    /// Reads the text of a file, leaving out any lines that cannot be read.
    package init(text: String) {
        for line in text.split(separator: "\n") {
            if let answer = RememberedAnswer(line: line) { add(answer) }
        }
    }
}

extension RememberedAnswer {
    fileprivate init?(line: Substring) {
        let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard fields.count == 7, let decision = PolicyDecision(rawValue: fields[0]), decision != .ask,
            let date = UInt64(fields[3]), let uses = UInt32(fields[4]), let lastUse = UInt64(fields[5])
        else { return nil }
        do throws(PolicySyntaxError) {
            let pattern = try PolicyPattern(urls: fields[1], source: fields[2])
            self.init(Key(pattern: pattern, handler: fields[6]), isAllowed: decision == .allow, date: date)
        } catch {
            return nil
        }
        self.uses = uses
        self.lastUse = lastUse
    }
}
