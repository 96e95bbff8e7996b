package import Desktop
package import SchemeRegistry
internal import UserFiles

extension DesktopApplications {
    /// Returns the application that a rule names; nil if there is none.
    ///
    /// A name is that of an entry, with or without `.desktop`. If there is no such entry, it can be the end of an entry's
    /// name, so that `firefox` also stands for the Flatpak `org.mozilla.firefox` and for the snap `firefox_firefox`, and
    /// for Debian's `firefox-esr`.
    package func application(calledInRule name: String) -> DesktopEntry? {
        let written = name
        let name = DesktopFileID.name(in: name) ?? name
        // The name of an entry may itself end in `.desktop`, as Telegram's does.
        for name in [name, written] {
            if let entry = DesktopFileID(name: name).flatMap({ self[$0] }) { return entry }
        }
        let short = asciiLowercased(name)
        return all.first { entry in
            let name = asciiLowercased(entry.id.name)
            return name.hasSuffix(".\(short)") || name == "\(short)_\(short)" || name == "\(short)-esr"
        }
    }
}
