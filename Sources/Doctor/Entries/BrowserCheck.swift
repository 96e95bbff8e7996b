internal import Desktop
internal import Links
internal import SchemeRegistry
internal import Translations
internal import UserFiles

/// Reports an application that claims the URLs of web pages but is not a browser. openurl's own entry gets them only if
/// the user has chosen that.
struct BrowserCheck: Check {
    let evidence: Evidence

    /// The schemes of web pages, which go to a browser.
    static let webSchemes: Set<String> = ["http", "https"]

    func perform(_ findings: inout Findings) {
        let asked = topic.map { Set($0.schemes.map(\.rawValue)) }
        guard asked.map({ topic?.identifier != nil || !$0.isDisjoint(with: Self.webSchemes) }) ?? true else { return }
        var reported: Set<DesktopFileID> = []
        for scheme in Self.webSchemes.sorted() {
            let type = "x-scheme-handler/\(scheme)"
            let candidates = files.associations.candidates(for: type, in: files.entries)
                .filter { $0.id.rawValue != AllLinks.entry }
            guard let first = candidates.first, !isBrowser(first), reported.insert(first.id).inserted else { continue }
            let browser = candidates.first(where: isBrowser)
            findings.add(
                .entries,
                .warn,
                "web",
                first.id.rawValue,
                browser.map {
                    translated("gets the links of web pages (\(scheme):) but is not a browser, before \($0.id)")
                } ?? translated("gets the links of web pages (\(scheme):) but is not a browser"),
                file: first.file,
                fix: browser.map { "gio mime \(type) \(quotedForShell($0.id.rawValue))" }
                    ?? files.changing(first, "s|x-scheme-handler/https\\?;||g")
            )
        }
    }

    private func isBrowser(_ entry: DesktopEntry) -> Bool {
        let categories = DesktopFile.writtenValue(of: "Categories", inFile: entry.file) ?? ""
        return categories.split(separator: ";").contains("WebBrowser")
    }
}
