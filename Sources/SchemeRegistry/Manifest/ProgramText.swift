/// The words in a command that an interpreter runs as a program, such as the word after a shell's `-c`.
///
/// If a URL were put into such a word, the URL's sender would write part of the program.
struct ProgramText {
    /// The indices of these words, in order.
    private(set) var indices: [Int] = []

    /// How an interpreter is given the text of a program.
    private struct Interpreter {
        /// The letters of the options that precede the text.
        var letters: Set<Character> = []
        /// Long options that precede the text.
        var options: Set<String> = []
        /// The options that take any other value: the letters of short options, and the long options.
        var valued: Set<Character> = []
        var valuedOptions: Set<String> = []
        /// Whether the text is the first argument that is not an option. In that case, an option with one of the
        /// ``letters`` may precede further options.
        var isFirstArgument = false
        /// Whether the first argument is the text only if an option with one of the ``letters`` precedes it.
        var needsLetter = false
    }

    private static let shell = Interpreter(
        letters: ["c"],
        options: ["--command", "--init-command"],
        valued: ["o", "O"],
        valuedOptions: ["--rcfile", "--init-file"],
        isFirstArgument: true,
        needsLetter: true
    )
    private static let perl = Interpreter(letters: ["e", "E"], valued: ["I", "M", "m"])
    private static let python = Interpreter(letters: ["c"], valued: ["W", "X", "m"])
    private static let javaScript = Interpreter(
        letters: ["e", "p"],
        options: ["--eval", "--print"],
        valued: ["r", "C"],
        valuedOptions: ["--require", "--import", "--loader", "--conditions"]
    )
    private static let emacs = Interpreter(letters: ["e"], options: ["--eval", "--execute"], valuedOptions: ["--load"])
    private static let vi = Interpreter(letters: ["c"], options: ["--cmd"])
    private static let text = Interpreter(letters: ["e"], options: ["--source", "--expression"], isFirstArgument: true)
    private static let session = Interpreter(letters: ["c"], options: ["--command", "--session-command"])

    private static let interpreters: [String: Interpreter] = [
        "sh": shell, "bash": shell, "dash": shell, "ash": shell, "zsh": shell, "ksh": shell, "mksh": shell,
        "yash": shell,
        "rbash": shell, "fish": shell, "csh": shell, "tcsh": shell, "pwsh": shell,
        "perl": perl, "ruby": Interpreter(letters: ["e"], valued: ["I", "r", "C"]),
        "python": python, "pypy": python,
        "node": javaScript, "nodejs": javaScript, "bun": javaScript,
        "php": Interpreter(letters: ["r", "R", "B", "E"], options: ["--run"], valued: ["d", "c"]),
        "lua": Interpreter(letters: ["e"], valued: ["l"]), "luajit": Interpreter(letters: ["e"], valued: ["l"]),
        "julia": Interpreter(letters: ["e", "E"], options: ["--eval", "--print"]),
        "R": Interpreter(letters: ["e"]), "Rscript": Interpreter(letters: ["e"]),
        "guile": Interpreter(letters: ["c"]), "osascript": Interpreter(letters: ["e"]),
        "emacs": emacs, "emacsclient": emacs, "vi": vi, "vim": vi, "nvim": vi,
        "awk": text, "gawk": text, "mawk": text, "sed": text,
        "su": session, "runuser": session, "script": session,
        "env": Interpreter(letters: ["S"], options: ["--split-string"], valued: ["u", "C"]),
    ]

    init(in words: [String]) {
        for (index, word) in words.enumerated() {
            let name = word.split(separator: "/").last ?? ""
            // Some names end with a version: python3.13, lua5.4.
            let version = name.reversed().prefix { $0.isASCII && ($0.isNumber || $0 == "." || $0 == "-") }
            guard let interpreter = Self.interpreters[String(name.dropLast(version.count))] else { continue }
            add(interpreter, words, after: index)
        }
        indices.sort()
    }

    private mutating func add(_ interpreter: Interpreter, _ words: [String], after start: Int) {
        var isText = interpreter.isFirstArgument && !interpreter.needsLetter
        var index = start + 1
        var areOptionsOver = false
        while index < words.count {
            let word = words[index]
            let isOption = word.first == "-" || interpreter.needsLetter && word.first == "+"
            guard isOption, word.count > 1, !areOptionsOver else {
                if isText { indices.append(index) }
                return
            }
            if word == "--" {
                areOptionsOver = true
            } else if word.hasPrefix("--") {
                let name = String(word.prefix { $0 != "=" })
                if interpreter.options.contains(name) {
                    indices.append(name == word ? index + 1 : index)
                    if name == word { index += 1 }
                } else if interpreter.valuedOptions.contains(word) {
                    index += 1
                }
            } else if interpreter.options.contains("-\(word)") {
                // Some programs take long options with only one hyphen.
                indices.append(index + 1)
                index += 1
            } else {
                let (takesText, takesNext) = cluster(word.dropFirst(), interpreter)
                if takesText, interpreter.needsLetter {
                    isText = true
                } else if takesText {
                    indices.append(takesNext ? index + 1 : index)
                    isText = false
                }
                if takesNext { index += 1 }
            }
            index += 1
        }
    }

    /// Reads a word of single-letter options.
    ///
    /// - Returns: whether one of them precedes the text, and whether the next word is the value of the last option.
    private func cluster(_ letters: Substring, _ interpreter: Interpreter) -> (takesText: Bool, takesNext: Bool) {
        var takesText = false
        for (position, letter) in letters.enumerated() {
            let isLast = position == letters.count - 1
            if interpreter.letters.contains(letter) {
                takesText = true
                // Further options may follow in the same word: a shell's as in `-ce`, or another program's as in `-pe`.
                let isTextNext = letters.dropFirst(position + 1).allSatisfy(interpreter.letters.contains)
                if !interpreter.needsLetter { return (true, isTextNext) }
            } else if interpreter.valued.contains(letter) {
                return (takesText, isLast)
            }
        }
        return (takesText, false)
    }
}
