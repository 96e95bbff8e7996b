internal import DBus
internal import Glibc
internal import OpenURLBus
internal import Translations

/// A question to the user at the terminal: whether to open a URL.
struct TerminalQuestion {
    let url: String
    let options: OpenOptions
    let router: RouterClient
    /// Ctrl-C; nil if it ends the program.
    let interrupt: Interrupt?
    let invocation: Invocation

    /// The replies, by the character that the user types.
    private enum Reply: Character {
        case yes = "y"
        case always = "a"
        case no = "n"
        case never = "v"
        case help = "?"
    }

    /// Asks the user.
    ///
    /// - Returns: the permission to open the URL; nil if the router has no question about it.
    /// - Throws: the failure for a URL that the user does not allow.
    func ask() throws(CommandFailure) -> String? {
        let question: PolicyQuestion
        do throws(CommandFailure) {
            question = try router.call(PolicyInterface.question, Arguments(url, options))
        } catch {
            // The refusal of the URL itself says more.
            return nil
        }
        invocation.output.flush()
        // Text that was typed before the question does not answer it.
        tcflush(invocation.input, TCIFLUSH)
        invocation.errors.print(translated("\(question.sender) wants to open this address with \(question.handler):"))
        invocation.errors.print("  \(question.url)")
        var reply = try reply(question)
        while reply == .help {
            for line in Self.help(question) { invocation.errors.print("  \(line)") }
            reply = try self.reply(question)
        }
        if question.isMemorable, reply == .always || reply == .never {
            _ = try router.call(PolicyInterface.remember, Arguments(question.permission, reply == .always))
        }
        switch reply {
        case .yes: return question.permission
        case .always where question.isMemorable: return question.permission
        case .always, .no, .never, .help:
            throw CommandFailure(
                OpenURLError(.notAllowed, translated("the address was not opened, because you answered no"))
            )
        }
    }

    /// Returns the user's reply; anything else counts as a no.
    private func reply(_ question: PolicyQuestion) throws(CommandFailure) -> Reply {
        let choices = question.isMemorable ? translated("[y]es, [a]lways, [n]o, ne[v]er") : translated("[y]es, [n]o")
        invocation.errors.prompt(translated("open it? \(choices), [?]: "))
        let line = line()
        // The router has not begun this URL, so there is nothing to cancel.
        if let interrupt, interrupt.isWaiting, interrupt.take() { throw .interrupted }
        return line.first.flatMap { Reply(rawValue: Character($0.lowercased())) } ?? .no
    }

    /// Returns the lines that explain the replies.
    private static func help(_ question: PolicyQuestion) -> [String] {
        guard question.isMemorable else {
            return [
                translated("y  open it this time"), translated("n  do not open it; any other answer does the same"),
            ]
        }
        return [
            translated("y  open it this time"),
            translated("a  open it, and later ones of this scheme and host without asking"),
            translated("n  do not open it this time; any other answer does the same"),
            translated("v  do not open it, nor later ones of this scheme and host"),
            translated("outside sandboxes, a and v apply to all your programs"),
            translated("'openurl policy forget' undoes a and v"),
        ]
    }

    /// Reads a line from the terminal; the line is empty at the end of the input, or after Ctrl-C.
    private func line() -> String {
        var bytes: [UInt8] = []
        var byte: UInt8 = 0
        while bytes.count < 256 {
            guard waitForInput() else { return "" }
            let count = read(invocation.input, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1, byte != UInt8(ascii: "\n") else { break }
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Waits for input or Ctrl-C; returns whether there is input.
    ///
    /// A `read` does not notice a signal that comes just before it, so the wait watches the signal's pipe too.
    private func waitForInput() -> Bool {
        var ends = [pollfd(fd: invocation.input, events: Int16(POLLIN), revents: 0)]
        if let interrupt { ends.append(pollfd(fd: interrupt.descriptor, events: Int16(POLLIN), revents: 0)) }
        while poll(&ends, nfds_t(ends.count), -1) < 0 {
            guard errno == EINTR else { return false }
        }
        return interrupt?.isWaiting != true
    }
}
