internal import CGTK
internal import Glibc
internal import Release

/// The program `openurl-chooser`.
package enum ChooserProgram {
    /// The exit statuses, which the router reads.
    private enum Status {
        static let closed: CInt = 1
        static let invalidQuestion: CInt = 2
        static let noDisplay: CInt = 3
    }

    /// Reads the question from the standard input, shows it, and writes the choice to the standard output.
    ///
    /// - Returns: The exit status.
    @MainActor package static func run() -> CInt {
        if CommandLine.arguments.dropFirst() == ["--version"] {
            print("openurl-chooser \(Version.current)")
            return 0
        }
        let question: Question
        do throws(InvalidQuestion) {
            question = try Question(standardInput())
        } catch {
            report("the question on the standard input \(error.reason)")
            return Status.invalidQuestion
        }
        prepareEnvironment(question)
        g_set_prgname("openurl-chooser")
        guard gtk_init_check() != 0 else {
            report("there is no display")
            return Status.noDisplay
        }
        if prefersDarkWindows() { prefer_dark_theme() }
        let window = ChooserWindow(question)
        window.run()
        guard let choice = window.choice else { return Status.closed }
        print(choice.keyFile, terminator: "")
        fflush(nil)
        // At the end of the output, the router starts the program.
        close(STDOUT_FILENO)
        window.waitForChosenProgram()
        return 0
    }

    /// Writes a line to the standard error, which the router logs.
    private static func report(_ problem: String) {
        let line = Array("openurl-chooser: \(problem)\n".utf8)
        write(STDERR_FILENO, line, line.count)
    }

    /// Reads the standard input up to its end, or a little more than a question may have.
    private static func standardInput() -> [UInt8] {
        var bytes: [UInt8] = []
        var isAtEnd = false
        while !isAtEnd, bytes.count <= Question.maximumSize {
            let chunk = [UInt8](unsafeUninitializedCapacity: 16 << 10) { buffer, count in
                count = max(0, read(STDIN_FILENO, buffer.baseAddress, buffer.count))
            }
            isAtEnd = chunk.isEmpty
            bytes += chunk
        }
        return bytes
    }

    /// Chooses the language, and leaves out what GTK would load for nothing: OpenGL takes longer to start than a small
    /// window takes to be drawn, and the remote file systems have no part in it.
    private static func prepareEnvironment(_ question: Question) {
        if !question.locale.isEmpty { setenv("LC_ALL", question.locale, 1) }
        setenv("GSK_RENDERER", "cairo", 0)
        setenv("GIO_USE_VFS", "local", 1)
    }
}
