@testable import SchemeRegistry

/// Reads localised strings.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    do {
        for (key, text) in try StringsFile(bytes).strings {
            precondition(!key.utf8.contains(0) && !text.utf8.contains(0))
            let written = "\(quoted(key)) = \(quoted(text));"
            let again = try StringsFile(Array(written.utf8)).strings
            precondition(again == [key: text])
        }
    } catch let error as StringsFile.ParseError {
        precondition(error.line >= 1 && error.line <= 1 + count)
    } catch {
        precondition(error is PropertyListError)
    }
    return 0
}

private func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
        if scalar == "\"" || scalar == "\\" { result += "\\" }
        result.unicodeScalars.append(scalar)
    }
    return result + "\""
}
