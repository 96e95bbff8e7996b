import FoundationEssentials

/// Returns the text of a Python program in the folder `Programs` beside the file of a test.
///
/// - Parameter name: the name of the program's file without its extension.
public func pythonProgram(_ name: String, beside file: String = #filePath) throws -> String {
    let folder = URL(filePath: file).deletingLastPathComponent().appending(path: "Programs")
    return try String(contentsOf: folder.appending(path: "\(name).py"), encoding: .utf8)
}
