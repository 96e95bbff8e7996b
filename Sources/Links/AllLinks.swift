internal import Desktop
internal import SchemeRegistry
package import UserFiles

/// The user's choice that openurl gets all links of the web.
///
/// It is written where the desktop keeps such choices, in `mimeapps.list`, and only when the user asks for it. The browser
/// that was the default before stays in the list as the second one. So the desktop uses it again if openurl is removed.
package struct AllLinks: Sendable {
    private let desktop: DesktopDirectories
    /// The directory with the file as it was before; nil if the environment gives none.
    private let directory: String?

    /// The schemes that are taken.
    package static let schemes = ["https", "http"]
    /// The router's own desktop entry.
    package static let entry = "org.openurl.Router1.desktop"

    private static let before = "mimeapps.before"
    private static let after = "mimeapps.after"

    package init(environment: [String: String]) {
        desktop = DesktopDirectories(environment: environment)
        directory = BaseDirectories(environment: environment).stateHome.map { "\($0)/openurl" }
    }

    /// Why the choice was not changed.
    package enum Failure: Error, Hashable {
        /// There is no desktop entry for the router.
        case notInstalled
        /// The user has not made the choice with openurl.
        case notChosen
        case file(FileWriteError)
    }

    /// Whether the user has chosen openurl for all links and not taken the choice back.
    package var isChosen: Bool {
        guard let directory else { return false }
        return isThere("\(directory)/\(Self.after)")
    }

    private func isThere(_ path: String) -> Bool {
        do throws(FileError) {
            _ = try status(of: path, followingLinks: false)
            return true
        } catch {
            return false
        }
    }

    /// Makes openurl the default for the links of the web.
    ///
    /// - Returns: the default browser, to which links go if no rule decides; nil if there is none.
    package func take() throws(Failure) -> String? {
        let entries = DesktopEntries(loading: desktop)
        let applications = DesktopApplications(entries: entries, associations: MimeAssociations(loading: desktop))
        guard let own = DesktopFileID(rawValue: Self.entry), let found = entries.entries[own], found.isDBusActivatable
        else { throw .notInstalled }
        guard let file = MimeAssociationsFile(in: desktop), let directory else {
            throw .file(FileWriteError("mimeapps.list", "has no directory; set HOME"))
        }
        var browser: DesktopFileID?
        var lists: [String: [DesktopFileID]] = [:]
        for name in Self.schemes {
            guard let scheme = checked(name) else { continue }
            let chosen = applications.claiming(scheme).first?.id
            browser = browser ?? chosen
            lists[scheme.mimeType] = [own] + (chosen.map { [$0] } ?? [])
        }
        do throws(FileWriteError) {
            let (old, new) = try file.setDefaults(lists)
            // If the user has chosen openurl before, the file as it was before that is the one to restore.
            let wasChosen = isChosen && contains(own, old ?? [])
            if !wasChosen {
                do throws(FileWriteError) {
                    // The file may have been changed by a call that ended before it could keep anything. What was there
                    // before is lost then, and openurl can only be taken out again.
                    if old != new { try keep(old, new, in: directory) } else { try keep(nil, [], in: directory) }
                } catch {
                    // Without what was there before, the choice could not be taken back.
                    _ = try file.restoreDefaults(old, insteadOf: new, without: own, for: Array(lists.keys))
                    throw error
                }
            }
        } catch {
            throw .file(error)
        }
        return browser?.rawValue
    }

    private func contains(_ id: DesktopFileID, _ bytes: [UInt8]) -> Bool {
        String(decoding: bytes, as: UTF8.self).contains(id.rawValue)
    }

    /// Takes the choice back. If nothing else has changed in the file, it is again as it was, byte for byte.
    ///
    /// - Returns: whether the file is as it was; otherwise, only openurl was taken out of it.
    package func giveBack() throws(Failure) -> Bool {
        guard isChosen, let directory, let file = MimeAssociationsFile(in: desktop),
            let own = DesktopFileID(rawValue: Self.entry)
        else { throw .notChosen }
        do throws(FileWriteError) {
            let before = try kept(Self.before, in: directory)
            let after = try kept(Self.after, in: directory)
            let types = Self.schemes.compactMap(checked).map(\.mimeType)
            let isAsBefore = try file.restoreDefaults(before, insteadOf: after, without: own, for: types)
            do throws(FileError) {
                let place = try PrivateDirectory(directory)
                try place.remove(Self.before)
                try place.remove(Self.after)
            } catch {
                throw FileWriteError(directory, error.reason)
            }
            return isAsBefore
        } catch {
            throw .file(error)
        }
    }

    private func keep(_ old: [UInt8]?, _ new: [UInt8], in directory: String) throws(FileWriteError) {
        do throws(FileError) {
            let place = try PrivateDirectory(directory, isMade: true)
            if let old {
                try place.replace(Self.before, with: old, isDurable: true)
            } else {
                try place.remove(Self.before)
            }
            try place.replace(Self.after, with: new, isDurable: true)
        } catch {
            throw FileWriteError(directory, error.reason)
        }
    }

    private func kept(_ name: String, in directory: String) throws(FileWriteError) -> [UInt8]? {
        do throws(FileError) {
            return try PrivateDirectory(directory).contents(of: name, limit: MimeAssociations.limit)
        } catch {
            if error.isAbsence { return nil }
            throw FileWriteError("\(directory)/\(name)", error.reason)
        }
    }

    private func checked(_ name: String) -> Scheme? {
        do throws(Scheme.ParseError) {
            return try Scheme(name)
        } catch {
            return nil
        }
    }

    /// The entries that the desktop uses for the links of the web, by scheme. A scheme without one is left out.
    package var current: [String: String] {
        let entries = DesktopEntries(loading: desktop)
        let associations = MimeAssociations(loading: desktop)
        var current: [String: String] = [:]
        for scheme in Self.schemes {
            current[scheme] = associations.defaultApplication(for: schemeHandlerType(scheme), in: entries)?.id.rawValue
        }
        return current
    }
}
