internal import Desktop
internal import Glibc
internal import Translations
internal import UserFiles

extension ExaminedFiles {
    /// Returns why an entry's program cannot run; nil if it can.
    func missingProgram(of entry: DesktopEntry, _ command: ExecCommand) -> String? {
        for program in [entry.tryProgram, command.program, programOfEnv(entry, command)].compactMap(\.self) {
            let path = isAbsolute(program) ? program : tool(program)
            guard let path else { return translated("starts \(program), which is not on PATH") }
            guard isRegularFile(path) else {
                let isImage = path.lowercased().hasSuffix(".appimage")
                return RemovableMedia.withQuestion(
                    isImage
                        ? translated("starts the AppImage \(path), which does not exist")
                        : translated("starts \(path), which does not exist"),
                    aboutAbsenceOf: path
                )
            }
            if access(path, X_OK) != 0 { return translated("starts \(path), which is not executable") }
        }
        return FlatpakApplications(environment: environment).problem(of: entry, command)
    }

    /// Returns the program that `env` starts, as for a snap; nil for any other command.
    private func programOfEnv(_ entry: DesktopEntry, _ command: ExecCommand) -> String? {
        guard UserFiles.names(onPath: command.program).last == "env" else { return nil }
        let words = command.arguments(opening: ["a:"], name: entry.name, icon: nil, file: entry.file).first ?? []
        let rest = words.dropFirst().drop { $0.contains("=") }
        // The options of `env` may have values, which are not programs.
        return rest.first?.hasPrefix("-") == true ? nil : rest.first
    }

    /// Returns the command that changes an entry and then rebuilds the cache. A system entry is copied to the user's
    /// directory, where the copy replaces it.
    func changing(_ entry: DesktopEntry, _ script: String) -> String {
        let directory = desktop.userApplicationDirectory ?? ""
        let refresh = "update-desktop-database \(quotedForShell(directory))"
        let script = quotedForShell(script)
        guard entry.precedence > 0 || desktop.dataHome == nil else {
            return "sed -i \(script) \(quotedForShell(entry.file)) && \(refresh)"
        }
        let copy = quotedForShell("\(directory)/\(entry.id)")
        return "sed \(script) \(quotedForShell(entry.file)) > \(copy) && \(refresh)"
    }
}
