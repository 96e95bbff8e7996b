internal import UserFiles

/// An extended regular expression of POSIX (`regex(7)`), for text in ASCII.
///
/// A search takes at most as many steps as the product of the lengths of the expression and of the text, and stops when
/// it has taken too many. `regexec(3)` has no such limit, and keeps memory for each text
/// (`Documentation/Decisions/link-rules.md`). The match is the first one and, from there, the longest one. Where several
/// ways lead to it, groups match as in the first: earlier alternatives come before later ones, and more repetitions
/// before fewer. References back to groups are no part of the language.
struct LinkExpression: Sendable, Hashable {
    struct Match: Sendable, Hashable {
        let whole: Range<Int>
        /// The groups from the first; nil for one that did not take part.
        let groups: [Range<Int>?]
    }

    /// Thrown when a search has taken too many steps.
    struct Exhausted: Error, Hashable {}

    /// A step of a search. Numbers of steps count from the beginning of the program.
    enum Step: Sendable, Hashable {
        case byte(ByteSet)
        case beginning
        case end
        /// Notes the place as the start or the end of a group.
        case mark(Int)
        /// Goes on with the first, and if that leads nowhere, with the second.
        case either(Int, Int)
        case jump(Int)
        case match
    }

    /// Maximum length of an expression, in bytes.
    static let maximumLength = 256
    /// Maximum number of times that braces can repeat something.
    static let maximumRepetition = 100
    /// Maximum number of steps of a program.
    static let maximumSize = 1000

    private let program: [Step]
    /// The number of groups.
    let groups: Int

    init(_ pattern: [UInt8], ignoringCase: Bool) throws(LinkSyntaxError) {
        guard !pattern.isEmpty, pattern.count <= Self.maximumLength else {
            throw LinkSyntaxError("the regular expression is empty, or has more than \(Self.maximumLength) bytes")
        }
        var parser = LinkExpressionParser(pattern, ignoringCase: ignoringCase)
        let tree = try parser.parse()
        groups = parser.groups
        var program: [Step] = []
        try Self.write(tree, to: &program)
        self.program = program + [.match]
    }

    /// Finds the first match.
    ///
    /// - Parameters:
    ///   - start: the first place for the match. `^` still stands for the beginning of the whole text.
    ///   - budget: the number of steps that may be taken, which decreases.
    func firstMatch(in text: [UInt8], from start: Int, budget: inout Int) throws(Exhausted) -> Match? {
        let width = text.count - start + 1
        var visited = [UInt64](repeating: 0, count: (program.count * width + 63) / 64)
        budget -= visited.count
        for first in start...text.count {
            if let marks = try longest(in: text, from: first, start, width, &visited, &budget) {
                let ranges = stride(from: 0, to: marks.count, by: 2).map { (index) -> Range<Int>? in
                    marks[index] < 0 || marks[index + 1] < marks[index] ? nil : marks[index]..<marks[index + 1]
                }
                guard let whole = ranges[0] else { return nil }
                return Match(whole: whole, groups: Array(ranges[1...]))
            }
        }
        return nil
    }

    /// Finds the longest match that begins at one place, and returns the places that it has marked.
    ///
    /// A step at a place that was taken before leads nowhere new: references back would be the only way in which the steps
    /// before it could matter.
    private func longest(
        in text: [UInt8],
        from first: Int,
        _ start: Int,
        _ width: Int,
        _ visited: inout [UInt64],
        _ budget: inout Int
    ) throws(Exhausted) -> [Int]? {
        enum Task {
            case take(step: Int, place: Int)
            /// Undoes a mark, before a way that was not taken yet.
            case restore(mark: Int, place: Int)
        }
        var marks = [Int](repeating: -1, count: 2 * (groups + 1))
        marks[0] = first
        var best: [Int]?
        var tasks = [Task.take(step: 0, place: first)]
        while let task = tasks.popLast() {
            guard case .take(var step, var place) = task else {
                if case .restore(let mark, let place) = task { marks[mark] = place }
                continue
            }
            way: while true {
                let bit = step * width + place - start
                if visited[bit / 64] & 1 << UInt64(bit % 64) != 0 { break }
                visited[bit / 64] |= 1 << UInt64(bit % 64)
                budget -= 1
                guard budget > 0 else { throw Exhausted() }
                switch program[step] {
                case .byte(let set):
                    guard place < text.count, set.contains(text[place]) else { break way }
                    place += 1
                    step += 1
                case .beginning:
                    guard place == 0 else { break way }
                    step += 1
                case .end:
                    guard place == text.count else { break way }
                    step += 1
                case .mark(let mark):
                    tasks.append(.restore(mark: mark, place: marks[mark]))
                    marks[mark] = place
                    step += 1
                case .either(let one, let other):
                    tasks.append(.take(step: other, place: place))
                    step = one
                case .jump(let target): step = target
                case .match:
                    marks[1] = place
                    if best.map({ $0[1] < place }) ?? true { best = marks }
                    if place == text.count { return best }
                    break way
                }
            }
        }
        return best
    }

    private static func write(_ node: LinkExpressionParser.Node, to program: inout [Step]) throws(LinkSyntaxError) {
        switch node {
        case .step(let step): program.append(step)
        case .sequence(let nodes): for node in nodes { try write(node, to: &program) }
        case .choice(let one, let other):
            let fork = program.count
            program.append(.match)
            try write(one, to: &program)
            let jump = program.count
            program.append(.match)
            program[fork] = .either(fork + 1, program.count)
            try write(other, to: &program)
            program[jump] = .jump(program.count)
        case .group(let number, let node):
            program.append(.mark(2 * number))
            try write(node, to: &program)
            program.append(.mark(2 * number + 1))
        case .repeated(let node, let least, let most):
            for _ in 0..<least { try write(node, to: &program) }
            var forks: [Int] = []
            for _ in least..<(most ?? least + 1) {
                forks.append(program.count)
                program.append(.match)
                try write(node, to: &program)
            }
            if most == nil { program.append(.jump(forks[0])) }
            for fork in forks { program[fork] = .either(fork + 1, program.count) }
        }
        guard program.count < maximumSize else {
            throw LinkSyntaxError(
                "the regular expression is too large, because it repeats a part too often; write * or +"
            )
        }
    }
}

/// A set of ASCII characters.
struct ByteSet: Sendable, Hashable {
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    init(_ bytes: some Sequence<UInt8> = []) {
        for byte in bytes { insert(byte) }
    }

    mutating func insert(_ byte: UInt8) {
        if byte < 64 { low |= 1 << UInt64(byte) } else if byte < 128 { high |= 1 << UInt64(byte - 64) }
    }

    func contains(_ byte: UInt8) -> Bool {
        (byte < 64 ? low >> UInt64(byte) : byte < 128 ? high >> UInt64(byte - 64) : 0) & 1 != 0
    }

    var inverted: ByteSet {
        var set = self
        (set.low, set.high) = (~low, ~high)
        return set
    }
}
