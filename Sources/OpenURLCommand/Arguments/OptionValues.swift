internal import ArgumentParser
internal import Translations
internal import URLOpener

/// A time limit on the command line: `5s`, `500ms`, `2m`, or a number of seconds.
struct TimeLimit: Sendable, Hashable {
    let duration: Duration

    private static let units: [(suffix: String, milliseconds: UInt64)] = [("ms", 1), ("s", 1000), ("m", 60_000)]

    /// Reads a time above zero.
    ///
    /// - Throws: `ValidationError`. A time of more than 49 days is an error too, because the bus carries milliseconds
    ///   in 32 bits.
    init(_ argument: String) throws {
        let digits = argument.prefix { $0.isASCII && $0.isNumber }
        let unit = argument[digits.endIndex...]
        let factor = unit.isEmpty ? 1000 : Self.units.first { $0.suffix == unit }?.milliseconds
        guard let factor, digits.contains(where: { $0 != "0" }) else {
            throw ValidationError(
                translated("write a time as a whole number above 0 with ms, s or m, such as 500ms or 5s")
            )
        }
        let (milliseconds, overflow) = (UInt64(digits) ?? .max).multipliedReportingOverflow(by: factor)
        guard !overflow, milliseconds <= UInt32.max else {
            throw ValidationError(translated("a time can be at most 49 days"))
        }
        duration = .milliseconds(milliseconds)
    }
}

/// How long a URL may wait, on the command line: a number with `s`, `m`, `h` or `d`.
struct Lifetime: Sendable, Hashable {
    let duration: Duration

    /// Reads a time above zero.
    ///
    /// - Throws: `ValidationError`. A time of more than 49 days is an error too, because the bus carries milliseconds
    ///   in 32 bits.
    init(_ argument: String) throws {
        guard let seconds = FutureTime.seconds(argument), seconds > 0 else {
            throw ValidationError(
                translated("write a time as a whole number above 0 with s, m, h or d, such as 10m or 2h")
            )
        }
        guard seconds <= 49 * 86_400 else { throw ValidationError(translated("a time can be at most 49 days")) }
        duration = .seconds(seconds)
    }
}

/// A `key=value` on the command line, split at the first `=`.
struct KeyValue: Sendable, Hashable {
    let key: String
    let value: String

    /// Reads a pair. Its value may be empty, but its key may not.
    init(_ argument: String) throws {
        try self.init(argument, form: translated("write an annotation as key=value"))
    }

    /// Reads a pair, and explains the form to a user who leaves out the key.
    ///
    /// - Parameter form: the message for an argument without a key.
    init(_ argument: String, form: String) throws {
        let text = try CommandLineArgument.anyText(argument)
        guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")), equals > text.startIndex else {
            throw ValidationError(form)
        }
        key = String(text[..<equals])
        value = String(Substring(text.utf8[equals...].dropFirst()))
    }
}

extension KeyedFile {
    /// Reads a pair. Neither part may be empty.
    init(_ argument: String) throws {
        let form = translated("write the key and the file as key=file")
        let pair = try KeyValue(argument, form: form)
        guard !pair.value.isEmpty else { throw ValidationError(form) }
        self.init(key: pair.key, path: pair.value == "-" ? nil : pair.value)
    }
}
