internal import SchemeRegistry
internal import Translations
internal import UserFiles

/// Reports the choice of xdg-open.
struct XDGOpenCheck: SchemeCheck {
    let evidence: Evidence

    func perform(_ scheme: Scheme, expected: String, _ findings: inout Findings) {
        let tool = files.tool("xdg-mime")
        let lacksDisplay = environment["DISPLAY"] == nil && environment["WAYLAND_DISPLAY"] == nil
        if let other = files.tool("xdg-open"), !Self.isOfXDGUtils(other) {
            let reason = translated(
                "is \(other), which is not the program of xdg-utils; only --probe shows what it chooses"
            )
            findings.add(.openers, .skip, "xdg-open", "xdg-open", reason, file: other)
        } else {
            let choice =
                tool.map {
                    OpenerChoice(asking: [$0, "query", "default", scheme.mimeType], environment, marking: { $0 })
                } ?? .missing
            choice.report(
                of: "xdg-open",
                on: scheme,
                expected: expected,
                lacksDisplay: lacksDisplay,
                files,
                &findings
            )
        }
        if lacksDisplay, tool != nil {
            let reason = translated("opens desktop entries only if DISPLAY or WAYLAND_DISPLAY is set")
            findings.add(.openers, .skip, "xdg-open", "xdg-open", reason)
        }
    }

    /// Returns whether a program is xdg-utils' script. Other programs have the same name.
    private static func isOfXDGUtils(_ path: String) -> Bool {
        do throws(FileError) {
            let text = try contents(ofFile: path, limit: 1 << 20, followingLinks: true)
            return String(decoding: text, as: UTF8.self).contains("open a URL in the registered default application")
        } catch {
            return false
        }
    }
}
