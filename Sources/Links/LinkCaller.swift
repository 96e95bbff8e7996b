internal import ByteCoding
internal import OpenURLBus
package import Policy
internal import UserFiles

/// The program that a link comes from, as the rules see it.
package struct LinkCaller: Sendable, Hashable {
    let caller: PolicyCaller
    /// The path of the program; nil if it is not known.
    let program: String?

    /// Describes a program.
    ///
    /// - Parameter program: the path of the program that the kernel runs.
    package init(_ caller: PolicyCaller, program: String? = nil) {
        self.caller = caller
        // A path of a hostile program could take a long time to compare.
        self.program = program.flatMap { $0.hasTooManyMarks ? nil : $0 }
    }

    /// The source that a rule for links from this program names; nil if no rule can recognise the program.
    package var source: LinkSource? {
        if let id = caller.application { return .policy(.application(id)) }
        if let host = caller.host { return .policy(.host(host)) }
        if let container = caller.container { return .policy(.container(container)) }
        guard caller.callerClass == .user, let program, LinkSource.isProgram(program) else { return nil }
        return .program(program)
    }
}

/// The programs to which a rule applies: those of a source in the policy, or one program.
///
/// The policy has no programs, because the user's programs can pretend to be each other. A preference is not a
/// protection, so a rule for links may name one.
package enum LinkSource: Sendable, Hashable, CustomStringConvertible {
    case policy(PolicySource)
    /// The path of a program, or its last component.
    case program(String)

    private static let programMark = "program:"

    /// Reads a source.
    package init(_ text: String) throws(LinkSyntaxError) {
        if asciiLowercased(text).hasPrefix(Self.programMark) {
            let name = String(text.dropFirst(Self.programMark.count))
            guard Self.isProgram(name), name.hasPrefix("/") || !name.contains("/") else {
                throw LinkSyntaxError(
                    "'\(printable(name))' is not a program: write a name, or an absolute path, in printable ASCII"
                )
            }
            self = .program(name)
            return
        }
        do throws(PolicySyntaxError) {
            self = .policy(try PolicySource(text))
        } catch {
            throw LinkSyntaxError("\(error.description), or program:NAME")
        }
    }

    /// Returns whether a rule can name a program so.
    static func isProgram(_ name: String) -> Bool {
        !name.isEmpty && name.utf8.count <= 1024
            && name.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\"") }
    }

    func matches(_ caller: LinkCaller) -> Bool {
        switch self {
        case .policy(let source): source.matches(caller.caller)
        case .program(let name): caller.programNames.contains(name)
        }
    }

    /// The source as spelt in a rule.
    package var description: String {
        switch self {
        case .policy(let source): source.description
        case .program(let name): Self.programMark + name
        }
    }

    /// The source as one word of a line.
    package var word: String { LinkWords.quoted(description) }
}

extension LinkCaller {
    /// The names by which a rule may call the program.
    fileprivate var programNames: [String] {
        guard let program else { return [] }
        return [program] + (program.split(separator: "/").last.map { [String($0)] } ?? [])
    }

    /// The keys of the rules with one source that includes this program.
    var keys: [LinkRules.SourceKey] {
        var sources: [PolicySource] = [.callers(caller.callerClass)]
        if let host = caller.host { sources.append(.host(host)) }
        if let container = caller.container { sources.append(.container(container)) }
        if let id = caller.application {
            sources.append(.application(id))
            for dot in id.utf8.indices where id.utf8[dot] == UInt8(ascii: ".") {
                sources.append(.applications(prefix: String(id[...dot])))
            }
        }
        return programNames.map(LinkRules.SourceKey.program) + sources.map(LinkRules.SourceKey.source)
    }
}

extension LinkSource {
    /// The key of rules that are only for this source; nil for the source of every program.
    var key: LinkRules.SourceKey? {
        switch self {
        case .policy(.every): nil
        case .policy(let source): .source(source)
        case .program(let name): .program(name)
        }
    }
}
