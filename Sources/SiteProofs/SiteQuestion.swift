package import WebLinks

/// A question to a site: which paths do these apps get?
package struct SiteQuestion: Sendable {
    private let host: WebHost
    private let apps: [String]
    private let options: Transfer.Options

    /// Creates a question.
    package init(_ host: WebHost, about apps: [String], _ options: Transfer.Options) {
        self.host = host
        self.apps = apps
        self.options = options
    }

    /// Asks the site: one request for its own file, and at most one for each of the files to which that refers.
    package func ask() -> SiteAnswer {
        let file: SiteFile
        switch Transfer.get(SiteFile.path, from: host, options) {
        case .noFile(let reason): return SiteAnswer(host, .noFile("\(SiteFile.path): \(reason)"))
        case .unreachable(let reason): return SiteAnswer(host, .unreachable(reason))
        case .file(let bytes):
            do throws(SiteFile.Refusal) {
                file = try SiteFile(bytes, about: Set(apps))
            } catch {
                return SiteAnswer(host, .noFile("\(SiteFile.path) \(error.reason)"))
            }
        }
        var phones = PhoneTransfers(host: host, options: options)
        var answers: [String: SiteAnswer.App] = [:]
        for (id, entry) in file.entries {
            do throws(Unanswered) {
                answers[id] = try answer(entry, &phones)
            } catch {
                return SiteAnswer(host, .unreachable(error.reason))
            }
        }
        return SiteAnswer(host, .file(answers))
    }

    /// Thrown if a file that is needed cannot be had now.
    fileprivate struct Unanswered: Error {
        let reason: String
    }

    private func answer(
        _ entry: Result<SiteFile.Entry, SiteFile.Refusal>,
        _ phones: inout PhoneTransfers
    ) throws(Unanswered) -> SiteAnswer.App {
        switch entry {
        case .failure(let refusal): return SiteAnswer.App(problem: "\(SiteFile.path): \(refusal.reason)")
        case .success(let entry):
            // Exclusions come first, because the first rule that matches decides.
            var rules = entry.exclusions.map { PathRules.Rule($0, isExcluded: true) }
            rules += entry.paths.map { PathRules.Rule($0) }
            for (path, id, read) in [
                (PhoneFiles.applePath, entry.apple, PhoneFiles.appleRules),
                (PhoneFiles.androidPath, entry.android, PhoneFiles.androidRules),
            ] {
                guard let id else { continue }
                switch try phones.get(path) {
                case .failure(let refusal): return SiteAnswer.App(problem: "\(path): \(refusal.reason)")
                case .success(let bytes):
                    do throws(SiteFile.Refusal) {
                        rules += try read(bytes, id)
                    } catch {
                        return SiteAnswer.App(problem: "\(path) \(error.reason)")
                    }
                }
            }
            guard let rules = PathRules(rules) else {
                return SiteAnswer.App(problem: "\(SiteFile.path): there are too many patterns for the app")
            }
            return SiteAnswer.App(rules, isForAdministratorsOnly: entry.isForAdministratorsOnly)
        }
    }
}

/// The files for phones, each of which is requested at most once.
private struct PhoneTransfers {
    let host: WebHost
    let options: Transfer.Options
    private var files: [String: Result<[UInt8], SiteFile.Refusal>] = [:]

    init(host: WebHost, options: Transfer.Options) {
        self.host = host
        self.options = options
    }

    mutating func get(_ path: String) throws(SiteQuestion.Unanswered) -> Result<[UInt8], SiteFile.Refusal> {
        if let file = files[path] { return file }
        let file: Result<[UInt8], SiteFile.Refusal>
        switch Transfer.get(path, from: host, options) {
        case .file(let bytes): file = .success(bytes)
        case .noFile(let reason): file = .failure(SiteFile.Refusal(reason: reason))
        case .unreachable(let reason): throw SiteQuestion.Unanswered(reason: "\(path): \(reason)")
        }
        files[path] = file
        return file
    }
}
