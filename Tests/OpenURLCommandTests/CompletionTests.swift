import ArgumentParser
import Testing

@testable import OpenURLCommand
@testable import URLOpener

/// The words that the command offers to a shell. IntegrationTests has the shells, and the names that the router knows.
@Suite struct CompletionTests {
    /// Returns the offered words without their descriptions.
    private func words(_ line: [String]) throws -> (files: String, words: [String]) {
        let run = try openurl((["__complete"] + line).map { .text($0) })
        #expect(run.status == 0 && run.errors.isEmpty, "\(run)")
        let words = run.lines.dropFirst().map { String($0.prefix { $0 != "\t" }) }
        return (try #require(run.lines.first), words)
    }

    @Test(arguments: [
        (["stat"], "files", ["status"]),
        (["open", "--every", "d"], "", ["day"]),
        (["share", "--for=p"], "", ["--for=podman"]),
        (["explain", "--source", "s"], "", ["sandboxed"]),
        (["start", "--res"], "", ["--reset"]),
        (["--host", "h", "stat"], "files", ["status"]),
        (["--host=h", "stat"], "files", ["status"]),
        (["--host", "h"], "", []),
        (["--hos"], "", ["--host"]),
        (["help", "regis"], "", ["register"]),
        (["help", "queue", ""], "", ["list", "wait", "retry", "drop"]),
        (["help", "queue", "w"], "", ["wait"]),
        (["help", "queue", "wait", ""], "", []),
        (["help", "send", ""], "", []),
        (["queue", ""], "", ["list", "wait", "retry", "drop"]),
        (["queue", "--show-q"], "", ["--show-queries"]),
        (["notifications", "c"], "", ["cancel"]),
        (["queue", "drop", "--a"], "", ["--all"]),
        (["tasks", ""], "", ["list", "run", "cancel"]),
        (["tasks", "cancel", "--a"], "", ["--all"]),
        (["policy", "--x", "al"], "", ["allow"]),
        (["new", "--sw"], "", ["--swift"]),
        (["new", "--scheme", "--sw"], "", []),
        (["new", "--scheme=x", "--sw"], "", ["--swift"]),
        (["new", "--directory", ""], "directories", []),
        (["new", "--directory", "x", ""], "", []),
        (["send", "--timeout", "5s", ""], "files", []),
        (["send", "a", ""], "files", []),
        (["run", "--claim", "a", "b", "--ha"], "", ["--handler"]),
        (["run", "--claim", "a", "--handler=x", ""], "", []),
        (["run", "--claim", "a", "--", ""], "files", []),
        (["open", "--", "--j"], "files", []),
        (["--", "stat"], "files", []),
        (["--json", "stat"], "files", []),
        (["x:y", "--js"], "", ["--json"]),
        (["version", "x", ""], "", []),
        (["\u{0}", "\u{1B}"], "files", []),
    ])
    func wordsFollowTheLine(line: [String], files: String, expected: [String]) throws {
        let (added, words) = try words(line)
        #expect(added == files, "\(line)")
        #expect(words == expected, "\(line)")
    }

    /// The help is the parser's own list of what it takes.
    @Test func everyCommandAndOptionOfTheHelpIsOffered() throws {
        #expect(try words([]).words.count > 25)
        var commands: [[String]] = []
        for command in CommandLineInterface.configuration.subcommands {
            let name = try #require(command.configuration.commandName)
            #expect(try words([name]).words.contains(name))
            commands.append([name])
            for subcommand in command.configuration.subcommands {
                commands.append([name, try #require(subcommand.configuration.commandName)])
            }
        }
        #expect(commands.count > 35)
        for command in commands {
            let help = try openurl((command + ["--help"]).map { .text($0) }).output
            // The names at the beginning of a line; the text beside them may name options of other commands.
            let options = help.split(separator: "\n").compactMap { line in
                line.prefixMatch(of: /\ +(?:-\w, )?(--[a-z-]+)/).map { String($0.1) }
            }
            // A command with commands of its own takes the options of one of them, too.
            let offered = Set(try words(command + ["--"]).words)
            #expect(offered.isSuperset(of: options), "\(command): \(offered)")
            if ![["queue"], ["policy"], ["notifications"], ["tasks"], ["hosts"], ["links"]].contains(command) {
                #expect(offered.count == options.count, "\(command): \(offered)")
            }
        }
    }

    @Test func descriptionIsOneSentence() throws {
        let run = try openurl("__complete", "register", "--eph")
        #expect(run.lines.dropFirst() == ["--ephemeral\tRegister until the router exits, and write no file"])
    }

    @Test func scriptIsPrintedWhereverItIsAskedFor() throws {
        for shell in ["bash", "fish", "zsh"] {
            let script = try openurl("--generate-completion-script", shell)
            #expect(script.status == 0 && script.output.contains("openurl __complete"), "\(script)")
            #expect(try openurl("open", "--generate-completion-script=\(shell)", "x").output == script.output)
            // The parser's own script asks in this way.
            #expect(!script.output.contains("---completion"), "\(script)")
        }
        #expect(try openurl("--generate-completion-script", "csh").status == 64)
    }
}
