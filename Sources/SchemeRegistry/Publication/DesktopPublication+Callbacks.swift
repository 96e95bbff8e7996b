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
        let before = callbackSchemes.map(types)
        let isForeign =
            ownEntry(id, of: Self.callbackMark) == nil && DesktopEntryFile.exists(id, in: applicationDirectory)
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

    /// Forgets which schemes the entry claims, because an earlier call may still write or remove it.
    mutating func forgetCallbacks() { callbackSchemes = nil }
}
