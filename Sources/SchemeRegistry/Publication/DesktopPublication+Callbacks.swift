internal import Desktop
internal import UserFiles

/// The entry through which the desktop passes callbacks to the programs that wait for them.
///
/// It exists while there are claims, from the first call until the router ends. It bears this system's mark but belongs
/// to no handler. So if a router could not remove its entry, ``publish(_:)`` removes it.
extension DesktopPublication {
    /// The entry's mark, in place of a handler's identifier.
    static let callbackMark = "org.openurl.callback"

    private static var callbackEntry: DesktopFileID? { DesktopFileID(name: callbackMark) }

    /// Makes the entry claim exactly these schemes.
    mutating func publish(callbacks schemes: Set<String>) {
        guard let id = Self.callbackEntry, schemes != callbackSchemes else { return }
        let types = { (schemes: Set<String>) in schemes.sorted().map { "x-scheme-handler/\($0)" } }
        let before = types(callbackSchemes)
        let isForeign =
            DesktopEntryFile.exists(id, in: applicationDirectory) && !isCallbackEntry(id)
            && !DesktopEntryFile.isLost(id, in: applicationDirectory)
        do {
            guard !isForeign else {
                throw FileWriteError(
                    "\(applicationDirectory)/\(id)",
                    "is another program's entry; callbacks do not arrive"
                )
            }
            if schemes.isEmpty {
                try DesktopEntryFile.remove(id, in: applicationDirectory)
            } else {
                let command = [command, "open", "--desktop-entry", id.rawValue, "--"]
                var entry = try DesktopEntryFile(name: "Callback", command: command, urls: .one)
                entry.mimeTypes = types(schemes)
                entry.hasStartupNotification = true
                entry.desktops = ["KDE"]
                entry.categories = ["Core"]
                entry.handler = Self.callbackMark
                try entry.write(as: id, in: applicationDirectory, isDurable: false)
            }
            callbackSchemes = schemes
            updateCache([id: (types(schemes), before)])
        } catch let error as FileWriteError {
            note(error)
        } catch {
            note(FileWriteError("\(applicationDirectory)/\(id)", String(describing: error)))
        }
    }

    /// Whether the entry in the user's directory is for callbacks.
    private func isCallbackEntry(_ id: DesktopFileID) -> Bool {
        let location = DesktopFile.Location(id: id, file: "\(applicationDirectory)/\(id)", precedence: 0)
        guard !DesktopEntryFile.isLink(id, in: applicationDirectory),
            case .application(let entry) = DesktopFile(reading: location, languages: []).content
        else { return false }
        return entry.handler == Self.callbackMark
    }
}
