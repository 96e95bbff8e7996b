/// Returns a name from another program as people may see it: of bounded length, and without characters that are invisible,
/// break the line, change the direction of the text around them, or pile up over it.
func shownName(_ name: String) -> String {
    let maximum = 48
    var shown = String.UnicodeScalarView()
    var marks = 0
    for scalar in name.unicodeScalars where isVisible(scalar) {
        guard shown.count < maximum else { return "\(String(shown))…" }
        marks = isStacked(scalar) ? marks + 1 : 0
        // No language needs more.
        if marks <= 4 { shown.append(scalar) }
    }
    return String(shown)
}

private func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: false
    default: !scalar.properties.isDefaultIgnorableCodePoint
    }
}

/// Returns whether a scalar is drawn above, below or around the one before it.
private func isStacked(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark: true
    default: false
    }
}
