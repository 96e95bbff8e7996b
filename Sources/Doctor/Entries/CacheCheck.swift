internal import Desktop
internal import Glibc
internal import Translations
internal import UserFiles

/// Checks the caches of MIME types next to the entries. GLib sees an entry only through the cache.
struct CacheCheck: Check {
    let evidence: Evidence

    func perform(_ findings: inout Findings) {
        let stale = staleDirectories(files.all)
        guard !stale.isEmpty else { return }
        // The router writes an entry and then the cache, so the first check may have happened in between.
        let locations = DesktopEntries.locations(in: files.desktop).locations.filter { stale[$0.precedence] != nil }
        let now = locations.map { DesktopFile(reading: $0, languages: []) }
        for (precedence, problem) in staleDirectories(now).sorted(by: { $0.key < $1.key }) {
            report(precedence, problem, &findings)
        }
    }

    /// Returns why caches cannot be relied on, by the positions of their directories.
    private func staleDirectories(_ all: [DesktopFile]) -> [Int: String] {
        var stale: [Int: String] = [:]
        for (precedence, directory) in files.desktop.applicationDirectories.enumerated() {
            let present = Set(all.filter { $0.location.precedence == precedence }.map(\.location.id))
            let entries = all.compactMap { file -> DesktopEntry? in
                guard file.location.precedence == precedence, case .application(let entry) = file.content,
                    !entry.urlSchemes.isEmpty
                else { return nil }
                return entry
            }
            guard !entries.isEmpty else { continue }
            var cache = MimeInfoCache(directory: directory)
            do throws(FileWriteError) {
                if try !cache.agrees(with: entries, isThere: { present.contains($0) }) {
                    stale[precedence] =
                        access(cache.path, F_OK) == 0
                        ? translated("differs from the entries beside it")
                        : translated("is missing, so GLib finds no entry")
                }
            } catch {
                stale[precedence] = error.reason
            }
        }
        return stale
    }

    private func report(_ precedence: Int, _ problem: String, _ findings: inout Findings) {
        let directory = files.desktop.applicationDirectories[precedence]
        let isUsers = precedence == 0 && files.desktop.dataHome != nil
        let obstacle = isUsers ? files.obstacle(directory) : nil
        findings.add(
            .entries,
            isUsers ? .fail : .warn,
            "stale-cache",
            "mimeinfo.cache",
            obstacle.map { translated("\(problem); it cannot be rebuilt, because \($0)") } ?? problem,
            file: "\(directory)/mimeinfo.cache",
            fix: obstacle == nil
                ? (isUsers ? "" : "sudo ") + "update-desktop-database \(quotedForShell(directory))" : nil,
            repair: isUsers && obstacle == nil ? .cache(directory: directory) : nil
        )
    }
}
