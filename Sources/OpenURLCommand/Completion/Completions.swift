internal import ArgumentParser
internal import Spelling
internal import Translations
internal import URLOpener

/// The words that could replace the last word of an unfinished command line.
///
/// Each shell's script asks for them with `openurl __complete WORD ...`. In the answer, the first line specifies which
/// files the shell adds. Each further line has a word that begins with the last word and, after a tab, its description.
/// The shell quotes the words.
struct Completions {
    /// The command that the scripts run.
    static let command = "__complete"

    /// The files that the shell adds itself, because it knows how to quote their names.
    enum AddedFiles: String {
        case none = ""
        case files, directories
    }

    private var added = AddedFiles.none
    private var words: [String] = []

    /// The lines of the answer.
    var lines: [String] { [added.rawValue] + words }

    /// Completes the words after the program's name. The last word may be empty.
    init(of words: [String]) {
        let last = words.last ?? ""
        var words = words.dropLast()
        let option = "--host"
        let isRemote = words.first == option || words.first?.hasPrefix("\(option)=") == true
        if isRemote, words.removeFirst() == option, words.popFirst() == nil { return }
        do {
            var place = Place(path: [try CommandDescription.ofWholeProgram()], isRemote: isRemote)
            for word in words { place.pass(word) }
            if let (option, command) = place.option, !(option.takesManyValues && place.isOption(last)) {
                addValues(of: option, command, last, at: place)
            } else if place.isOption(last) {
                if place.path.count == 1 { add([option], last, translated("Use the router of another machine.")) }
                addOptions(last, at: place)
            } else {
                addCommandsAndArguments(last, at: place)
            }
        } catch {
            // In this case, the shell offers nothing. Tests make sure that the parser's description can be read.
        }
    }

    private mutating func add(_ names: [String], _ prefix: String, _ description: String? = nil) {
        // One sentence next to a word is enough.
        let sentence = description?.split(separator: "\n").first?.split(separator: ". ").first
        let end = sentence.map { "\t" + ($0.last == "." ? $0.dropLast() : $0) } ?? ""
        words += names.filter { $0.utf8.starts(with: prefix.utf8) }.map { $0 + end }
    }

    private mutating func addOptions(_ last: String, at place: Place) {
        let parts = last.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 1 else {
            guard let (option, command) = place.owner(of: parts[0]) else { return }
            return addValues(of: option, command, parts[1], after: "\(parts[0])=", at: place)
        }
        for option in place.commands.flatMap({ $0.last?.arguments ?? [] }) where option.shouldDisplay {
            add(option.options.filter { $0.hasPrefix("--") }, last, option.abstract)
        }
    }

    private mutating func addCommandsAndArguments(_ last: String, at place: Place) {
        if place.takesCommand {
            for command in place.parent?.subcommands ?? [] where command.shouldDisplay != false {
                add([command.commandName], last, command.abstract)
            }
        }
        for command in place.commands {
            let arguments = command.last?.positionals ?? []
            let index = min(place.positionals, arguments.count - 1)
            guard index >= 0, index == place.positionals || arguments[index].isRepeating,
                place.isAfterTerminator || !arguments[index].isAfterTerminator
            else { continue }
            addValues(of: arguments[index], named: "positional@\(index)", command, last, at: place)
        }
    }

    /// Adds the values of an option or an argument.
    ///
    /// - Parameters:
    ///   - name: the parser's name for the argument.
    ///   - head: the part of the last word that stays before the value.
    private mutating func addValues(
        of argument: CommandDescription.Argument,
        named name: String? = nil,
        _ command: [CommandDescription],
        _ prefix: String,
        after head: String = "",
        at place: Place
    ) {
        let kind = argument.completionKind
        if head.isEmpty, kind?.file != nil { added = .files }
        if head.isEmpty, kind?.directory != nil { added = .directories }
        let listed = (kind?.list?.values ?? []).filter { $0.utf8.starts(with: prefix.utf8) }
        words += listed.map { head + $0 }
        guard kind?.custom != nil, let name = name ?? argument.options.last else { return }
        // The parser runs the argument's closure, and reports the result as an error.
        let request = ["---completion"] + command.dropFirst().map(\.commandName)
        do {
            _ = try CommandLineInterface.parseAsRoot(request + ["--", name, "0", "\(prefix.count)", prefix])
        } catch {
            guard CommandLineInterface.exitCode(for: error) == .success else { return }
            let lines = CommandLineInterface.fullMessage(for: error).split(
                separator: "\n",
                omittingEmptySubsequences: false
            )
            if head.isEmpty, let files = lines.first.flatMap({ AddedFiles(rawValue: String($0)) }) { added = files }
            // The values come from this machine's router, so they say nothing about another machine.
            guard !place.isRemote else { return }
            // The shell would mistake a word that begins with a dash for an option.
            let values = lines.dropFirst().filter { place.isAfterTerminator || !head.isEmpty || !$0.hasPrefix("-") }
            words += values.map { head + $0 }
        }
    }
}

extension CommandDescription {
    /// Returns what is wrong with the first unknown option on a command line; nil if there is none.
    ///
    /// The parser reports such an option, or a number with a minus, only if it finds nothing else wrong. It never suggests
    /// `--version`.
    ///
    /// - Parameter words: the words after the program's name and `--host`.
    static func unknownOption(in words: [String]) -> String? {
        do {
            var place = Place(path: [try ofWholeProgram()], isRemote: false)
            for word in words {
                if place.isUnknownOption(word) {
                    let name = String(word.prefix { $0 != "=" })
                    return asking(whether: name.nearest(in: place.longOptions), translated("Unknown option '\(name)'"))
                }
                place.pass(word)
            }
        } catch {
            // In this case, the parser's own message has to do.
        }
        return nil
    }

    /// Joins each value that begins with a dash to its option: `--timeout -3s` becomes `--timeout=-3s`.
    ///
    /// An option of the command is not taken as a value, nor is `--`; the parser then reports that the value is missing.
    ///
    /// - Parameter words: the words after the program's name and `--host`, with the command's name.
    static func joiningValues(in words: [String]) -> [String] {
        do {
            var place = Place(path: [try ofWholeProgram()], isRemote: false)
            var joined: [String] = []
            for word in words {
                if place.isDashedValue(word) {
                    joined[joined.count - 1] += "=\(word)"
                } else {
                    joined.append(word)
                }
                place.pass(word)
            }
            return joined
        } catch {
            // In this case, the parser's own message has to do.
            return words
        }
    }
}

/// The point that the words before the last one lead to.
private struct Place {
    /// The program and the commands in the words.
    var path: [CommandDescription]
    /// Whether the commands are for the router of another machine.
    let isRemote: Bool
    /// How many arguments that are not options have passed.
    var positionals = 0
    /// The option whose value comes next, and its command.
    var option: (CommandDescription.Argument, [CommandDescription])?
    var isAfterTerminator = false

    init(path: [CommandDescription], isRemote: Bool) {
        self.path = path
        self.isRemote = isRemote
    }

    var takesCommand: Bool { positionals == 0 && !isAfterTerminator }

    /// The command whose own commands the next word can be. After `help`, the words are those of another command line.
    var parent: CommandDescription? { path.last?.commandName == "help" ? path.first : path.last }

    /// Whether `help` comes before the last command, which then has no options and arguments.
    private var isInHelp: Bool { path.count > 2 && path[1].commandName == "help" }

    /// The command that applies if no word is a command's name.
    private var defaultCommand: CommandDescription? {
        guard positionals == 0, let last = path.last else { return nil }
        return (path.count == 1 ? Open.name : last.defaultSubcommand).flatMap(last.subcommand)
    }

    /// The commands that the next word can belong to, each preceded by the commands above it.
    var commands: [[CommandDescription]] {
        isInHelp ? [] : [path] + (defaultCommand.map { [path + [$0]] } ?? [])
    }

    func isOption(_ word: String) -> Bool { !isAfterTerminator && word.utf8.first == UInt8(ascii: "-") }

    /// Returns the option with this name, and its command.
    func owner(of name: String) -> (CommandDescription.Argument, [CommandDescription])? {
        commands.lazy.compactMap { command in command.last?.option(name).map { ($0, command) } }.first
    }

    /// The long options of the commands that the next word can belong to.
    var longOptions: [String] {
        let arguments = commands.flatMap { $0.last?.arguments ?? [] }.filter(\.shouldDisplay)
        return arguments.flatMap(\.options).filter { $0.hasPrefix("--") } + (path.count == 1 ? ["--host"] : [])
    }

    /// Whether the next word is passed on, even if it looks like an option. It may be one for another machine's program.
    private var isPassedOn: Bool {
        commands.contains { command in
            (command.last?.positionals ?? []).prefix(positionals + 1).contains(where: \.takesTheRest)
        }
    }

    /// Whether the next word is an option that none of the commands has.
    func isUnknownOption(_ word: String) -> Bool {
        if let (option, _) = option, !option.takesManyValues { return false }
        guard isOption(word), word != "-", word != "--", !isPassedOn else { return false }
        // After a single dash, only the first letter is sure to be an option: a value or other options may follow it.
        return owner(of: word.hasPrefix("--") ? String(word.prefix { $0 != "=" }) : String(word.prefix(2))) == nil
    }

    /// Whether the next word is the value of the option before it, although it begins with a dash.
    func isDashedValue(_ word: String) -> Bool {
        guard let (option, _) = option, !option.takesManyValues, isOption(word), word != "--", !isPassedOn else {
            return false
        }
        // A single dash may begin several short options, such as `-vq`.
        let names = word.hasPrefix("--") ? [String(word.prefix { $0 != "=" })] : word.dropFirst().map { "-\($0)" }
        return !names.allSatisfy { owner(of: $0) != nil }
    }

    mutating func pass(_ word: String) {
        if let (option, _) = option {
            if !option.takesManyValues { self.option = nil }
            guard option.takesManyValues, isOption(word) else { return }
            self.option = nil
        }
        if isOption(word) {
            if word == "--" {
                isAfterTerminator = true
            } else if let (option, command) = owner(of: word) {
                path = command
                if option.kind == .option { self.option = (option, command) }
            }
        } else if takesCommand, let command = parent?.subcommand(word) {
            path.append(command)
        } else {
            path = commands.last ?? path
            positionals += 1
        }
    }
}
