internal import ByteCoding
internal import UserFiles

/// Checks that an XML property list cannot harm the decoder.
///
/// It counts all opening tags, even those in comments. If it interpreted XML, it could disagree with the decoder about
/// where a comment ends, but a plain count cannot. Entities are never expanded, because the decoder rejects a document
/// type with its own declarations.
func checkXMLPropertyList(_ bytes: [UInt8]) throws(PropertyListError) {
    let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let text = bytes.starts(with: byteOrderMark) ? bytes.dropFirst(3) : bytes[...]
    guard text.first(where: { !isXMLSpace($0) }) == UInt8(ascii: "<") else {
        throw PropertyListError(ofOtherFormat: text)
    }
    guard !text.contains(0) else { throw .containsNUL }
    guard let decoded = String(validating: text, as: UTF8.self) else { throw .notUTF8 }
    try checkMarks(decoded)

    let nesting = ["dict", "array", "plist"].map { Array($0.utf8) }
    var containers = 0
    var values = 0
    var index = text.startIndex
    while let angle = text[index...].firstIndex(of: UInt8(ascii: "<")) {
        index = angle + 1
        guard index < text.endIndex, isLetter(text[index]) else { continue }
        values += 1
        if nesting.contains(where: { text[index...].starts(with: $0) }) { containers += 1 }
    }
    // The outermost `<plist>` is not a container.
    if containers > PropertyListLimits.containers + 1 { throw .tooManyContainers }
    if values > PropertyListLimits.values { throw .tooLarge }
}

/// Counts the combining marks, including those written as character references.
private func checkMarks(_ text: String) throws(PropertyListError) {
    var marks = 0
    var previous: Unicode.Scalar = " "
    for scalar in text.unicodeScalars {
        if scalar.isMark || scalar == "#" && previous == "&" { marks += 1 }
        previous = scalar
    }
    if marks > PropertyListLimits.marks { throw .tooManyMarks }
}

func isXMLSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
}
