@testable import Processes

/// Reads the file that describes a Flatpak sandbox, and the label of a process.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    if let instance = FlatpakInstance(text) {
        precondition(Array(text.utf8).contains(Array(instance.application.utf8)))
    }
    let label = SecurityLabel(text, own: "unconfined")
    if let snap = label.snap { precondition(Array(text.utf8).contains(Array(snap.utf8))) }
    // Nothing that follows can take an application's name away from it.
    let named = "[Application]\nname=com.acme.app\n" + text
    if let instance = FlatpakInstance(named) { precondition(instance.application == "com.acme.app") }
    return 0
}
