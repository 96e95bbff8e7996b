internal import Desktop
internal import Translations
internal import UserFiles

/// Checks the caches of intents next to the entries. Other programs see an intent only through the cache.
extension Examination {
    /// Reports caches that differ from the entries. A missing cache is no fault, because most versions of
    /// `update-desktop-database` write none.
    func checkIntentCaches() {
        for (precedence, directory) in files.desktop.applicationDirectories.enumerated() {
            guard let problem = problem(in: directory, precedence) else { continue }
            let isUsers = precedence == 0 && files.desktop.dataHome != nil
            let obstacle = isUsers ? files.obstacle(directory) : nil
            add(
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

    private func problem(in directory: String, _ precedence: Int) -> String? {
        do throws(FileWriteError) {
            guard let cache = try IntentCache(readingIn: directory) else { return nil }
            let current = IntentCache(of: files.all.filter { $0.location.precedence == precedence })
            return cache == current ? nil : translated("differs from the entries beside it")
        } catch {
            return error.reason
        }
    }
}
