internal import Desktop
internal import Translations
internal import UserFiles

/// Checks the caches of intents next to the entries. Other programs see an intent only through the cache.
///
/// A missing cache is no fault, because most versions of `update-desktop-database` write none.
struct IntentCacheCheck: Check {
    let evidence: Evidence

    func perform(_ findings: inout Findings) {
        for (precedence, directory) in files.desktop.applicationDirectories.enumerated() {
            let isUsers = precedence == 0 && files.desktop.dataHome != nil
            guard let problem = problem(in: directory, precedence, isUsers) else { continue }
            let obstacle = isUsers ? files.obstacle(directory) : nil
            findings.add(
                .entries,
                .warn,
                "stale-intent-cache",
                IntentCache.fileName,
                obstacle.map { translated("\(problem); it cannot be rebuilt, because \($0)") } ?? problem,
                file: "\(directory)/\(IntentCache.fileName)",
                fix: isUsers ? nil : "sudo update-desktop-database \(quotedForShell(directory))",
                repair: isUsers && obstacle == nil ? .intentCache(directory: directory) : nil
            )
        }
    }

    private func problem(in directory: String, _ precedence: Int, _ isUsers: Bool) -> String? {
        do throws(FileWriteError) {
            guard let cache = try IntentCache(readingIn: directory) else { return nil }
            let current = IntentCache(of: files.all.filter { $0.location.precedence == precedence })
            // Only this program can repair scopes: `update-desktop-database` writes those of an intent on one line.
            let agrees = isUsers ? cache == current : cache.applications == current.applications
            return agrees ? nil : translated("differs from the entries beside it")
        } catch {
            return error.reason
        }
    }
}
