@testable import Desktop

private let file = MemoryFile()

/// Reads a desktop entry and a D-Bus service file, and expands the entry's command. The bytes alone are a value and a command.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    file.set(bytes)
    guard let id = DesktopFileID(rawValue: "org.example.App.desktop") else { preconditionFailure() }
    let entry = DesktopFile(reading: .init(id: id, file: file.path, precedence: 0), languages: ["de", "pt_BR"])
    switch entry.content {
    case .application(let application):
        if let command = application.command { check(command) }
    case .invalid: precondition(!entry.diagnostics.isEmpty)
    case .hidden, .other: break
    }
    _ = DBusServiceNames.command(inFile: file.path)
    _ = DesktopFile.writtenValue(of: "Exec", inFile: file.path)
    let text = String(decoding: bytes, as: UTF8.self)
    if let command = try? ExecCommand(parsing: text) { check(command) }
    checkValue(bytes)
    return 0
}

/// Checks that there is one process for each URL, or one for all, which gets each URL.
private func check(_ command: ExecCommand) {
    let urls = ["x:1", "file:///tmp/a%20b"]
    let processes = command.arguments(opening: urls, name: "Name", icon: "icon", file: "/a.desktop")
    precondition(processes.count == (command.takesSeveralURLs ? 1 : 2))
    for process in processes { precondition(process.first == command.program) }
    // A mark after the URL would make one character with its end.
    precondition(processes.joined().contains { Array($0.utf8).contains(Array("x:1".utf8)) })
    _ = command.arguments(opening: [], name: "", icon: nil, file: "")
}

/// Checks that a value is the same after it has been written and read again, without the characters that cannot be written.
private func checkValue(_ bytes: [UInt8]) {
    let value = KeyFileValue(bytes: bytes[...])
    if let text = try? value.string() {
        let plain = String(String.UnicodeScalarView(text.unicodeScalars.filter { !isUnwritable($0) }))
        let written = KeyFileText.string(text)
        let again = try? KeyFileValue(bytes: Array(written.utf8)[...]).string()
        precondition(again?.unicodeScalars.elementsEqual(plain.unicodeScalars) == true)
    }
    if let texts = try? value.strings() {
        let plain = texts.map { String(String.UnicodeScalarView($0.unicodeScalars.filter { !isUnwritable($0) })) }
        let written = KeyFileText.strings(texts)
        let again = try? KeyFileValue(bytes: Array(written.utf8)[...]).strings()
        precondition(again == plain.filter { !$0.isEmpty })
    }
    _ = try? value.boolean()
}

private func isUnwritable(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.generalCategory == .control && scalar != "\n" && scalar != "\t" && scalar != "\r"
}
