internal import Desktop
internal import Glibc
internal import Translations
internal import UserFiles

/// The applications that Flatpak has installed.
///
/// If an application is removed, an entry that the user has copied stays behind, and its program, `flatpak`, still
/// exists.
struct FlatpakApplications {
    let environment: [String: String]
    /// The directory with the administrator's installations (flatpak-installation(5)).
    var configuration = "/etc/flatpak/installations.d"

    /// Returns why an entry does not start its application; nil if it does, or if it is not for a Flatpak application.
    func problem(of entry: DesktopEntry, _ command: ExecCommand) -> String? {
        guard names(onPath: command.program).last == "flatpak", let id = application(of: entry, command),
            let installations, !installations.contains(where: { access("\($0)/app/\(id)", F_OK) == 0 })
        else { return nil }
        return translated("starts the Flatpak application \(id), which is not installed")
    }

    /// Returns the identifier after `flatpak run` and its options.
    private func application(of entry: DesktopEntry, _ command: ExecCommand) -> String? {
        let words = command.arguments(opening: ["a:"], name: entry.name, icon: nil, file: entry.file).first ?? []
        guard words.dropFirst().first == "run" else { return nil }
        let reference = words.dropFirst(2).first { !$0.hasPrefix("-") }
        return reference?.split(separator: "/").first.map(String.init)
    }

    /// The directories with Flatpak's installations; nil if a file about them cannot be read.
    private var installations: [String]? {
        let data = BaseDirectories(environment: environment).dataHome
        let user = environment["FLATPAK_USER_DIR"] ?? data.map { "\($0)/flatpak" }
        var paths = [environment["FLATPAK_SYSTEM_DIR"] ?? "/var/lib/flatpak", user].compactMap(\.self)
        do throws(FileError) {
            for name in try UserFiles.names(inDirectory: configuration) ?? [] {
                let file = "\(configuration)/\(String(decoding: name, as: UTF8.self))"
                let bytes = try contents(ofFile: file, limit: 1 << 16, followingLinks: true)
                for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
                where line.hasPrefix("Path=") {
                    paths.append(String(line.dropFirst("Path=".utf8.count)))
                }
            }
            return paths
        } catch {
            return nil
        }
    }
}
