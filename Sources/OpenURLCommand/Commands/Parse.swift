internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import RFC1808
internal import Translations
internal import URLOpener

struct Parse: Command {
    static let configuration = CommandConfiguration(
        commandName: "parse",
        abstract: translated("Parse URLs according to RFC 1808."),
        discussion: translated(
            """
            Prints each part unchanged, with its escapes. An absent part is shown as –, an empty one as ""; \
            with --json they are null and "". The exit status is 65 if an input is not a URL. Needs no router.
            """
        ),
        examples: [
            "openurl parse 'todolist://work/list?sort=date#today'",
            "openurl parse --base http://a.example/b/c ../d",
        ]
    )

    @Option(help: .init(translated("Resolve each input against this URL first."), valueName: "url"))
    var base: CommandLineArgument?

    @Flag(
        name: .customShort("0"),
        help: .init(translated("Read inputs that end in NUL instead of a newline from standard input."))
    )
    var isSeparatedByNUL = false

    @OptionGroup var outputOptions: OutputOptions

    @Argument(
        help: .init(translated("A URL to parse; - reads one URL per line from standard input."), valueName: "url")
    )
    var urls: [CommandLineArgument] = []

    func validate() throws {
        guard isSeparatedByNUL || !urls.isEmpty else {
            throw ValidationError(translated("give a URL to parse, or '-'"))
        }
        guard !isSeparatedByNUL || urls.isEmpty || urls.contains(.text("-")) else {
            throw ValidationError(translated("-0 reads standard input; give '-' as a URL too"))
        }
    }

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        var parsing = Parsing(base: try baseURL(), printsJSON: outputOptions.json, invocation: invocation)
        for url in urls.isEmpty ? [.text("-")] : urls {
            if url == .text("-") {
                try parseStandardInput(&parsing, invocation)
            } else {
                parsing.parse(url.bytes, label: urls.count > 1 ? url.shown : nil)
            }
        }
        return parsing.status
    }

    private func baseURL() throws(CommandFailure) -> GenericURL? {
        guard let base else { return nil }
        do throws(GenericURL.ParseError) {
            return try GenericURL(utf8: base.bytes.span)
        } catch {
            throw CommandFailure(OpenURLError(.malformedURL, "--base: \(error)"))
        }
    }

    private func parseStandardInput(_ parsing: inout Parsing, _ invocation: Invocation) throws(CommandFailure) {
        var reader = RecordReader(
            descriptor: invocation.input,
            separator: isSeparatedByNUL ? 0 : UInt8(ascii: "\n"),
            maximumLength: GenericURL.defaultMaximumLength
        )
        var number = 0
        do throws(RecordReader.ReadError) {
            while invocation.output.isIntact, let record = try reader.next(invocation.output.flush) {
                number += 1
                parsing.parse(
                    record,
                    label: isSeparatedByNUL ? translated("record \(number)") : translated("line \(number)")
                )
            }
        } catch {
            throw CommandFailure(
                .failed,
                translated("standard input: \(error.message)"),
                exitStatus: ExitStatus.inputOutput
            )
        }
    }
}

/// A run of the parser over several inputs, with its output.
private struct Parsing {
    let base: GenericURL?
    let printsJSON: Bool
    let invocation: Invocation
    var status: Int32 = 0
    private var isFirst = true

    init(base: GenericURL?, printsJSON: Bool, invocation: Invocation) {
        self.base = base
        self.printsJSON = printsJSON
        self.invocation = invocation
    }

    /// Parses an input, and prints the result.
    ///
    /// - Parameter label: identifies the input in an error message; nil if it is the only one.
    mutating func parse(_ input: [UInt8], label: String?) {
        do throws(GenericURL.ParseError) {
            let url = try url(input)
            if printsJSON {
                invocation.output.print(url.json.text)
            } else {
                if !isFirst { invocation.output.print("") }
                url.table.print(invocation)
                isFirst = false
            }
        } catch {
            status = OpenURLError.Code.malformedURL.exitStatus
            if printsJSON {
                invocation.output.print(error.json(of: input).text)
            } else {
                invocation.errors.print((label.map { "\($0): " } ?? "") + CommandFailure(error).message)
            }
        }
    }

    private func url(_ input: [UInt8]) throws(GenericURL.ParseError) -> GenericURL {
        guard let base else { return try GenericURL(utf8: input.span) }
        // An empty reference means the base (RFC 1808, section 4), but an empty input on its own is not a URL.
        return input.isEmpty
            ? try base.resolving(reference: "") : try GenericURL(utf8: input.span).resolved(against: base)
    }
}
