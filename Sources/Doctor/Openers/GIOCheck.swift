internal import SchemeRegistry

/// Reports the choice of GLib, which GNOME's programs use.
struct GIOCheck: SchemeCheck {
    let evidence: Evidence

    func perform(_ scheme: Scheme, expected: String, _ findings: inout Findings) {
        let choice =
            files.tool("gio").map {
                OpenerChoice(asking: [$0, "mime", scheme.mimeType], environment, marking: Self.gioDefault)
            } ?? .missing
        choice.report(of: "gio", on: scheme, expected: expected, files, &findings)
    }

    /// Finds the default in the output of `gio mime`, where it follows the last colon on the first line.
    private static func gioDefault(_ output: String) -> String? {
        guard let line = output.split(separator: "\n").first, line.hasPrefix("Default"),
            let colon = line.lastIndex(of: ":")
        else { return nil }
        return String(line[line.index(after: colon)...])
    }
}
