import DBus
import Foundation
import OpenURLBus
import Testing

/// The installed descriptions of the interfaces, which code generators read, against the introspection.
@Suite(.timeLimit(.minutes(5))) struct InterfaceFileTests {
    private static let directory = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Packaging/interfaces").standardized
    private static let id = "com.example.described"
    private static let introspect = Method<Empty, String>("org.freedesktop.DBus.Introspectable", "Introspect")
    /// The variable that makes the test write the files, whose comments stay.
    private static let variable = "OPENURL_WRITE_INTERFACES"

    @Test func installedDescriptionsAreThoseOfTheProcesses() async throws {
        let router = try await RouterProcess([Self.id: []])
        defer { router.stop() }
        _ = try await router.open("described:x")
        let name = try #require(BusName(Self.id))
        var found: [String: String] = [:]
        // Every path below the root is a handle, as far as a caller can tell.
        let handle = RemoteObject(RouterService.name, try #require(ObjectPath("\(RequestInterface.root)/x/y")))
        for object in [RouterService.object, handle, RemoteObject(name, HandlerInterface.object(of: name))] {
            let xml = try await router.connection.call(Self.introspect, on: object, Empty())
            for part in xml.components(separatedBy: "  <interface name=\"").dropFirst() {
                let id = part.prefix { $0 != "\"" }
                guard id.hasPrefix("org.openurl."), let end = part.range(of: "  </interface>\n") else { continue }
                found["\(id).xml"] = Self.document(
                    "  <interface name=\"" + part[..<end.upperBound],
                    try Self.comment(of: "\(id).xml")
                )
            }
        }
        let isWriting = ProcessInfo.processInfo.environment[Self.variable] != nil
        for (file, text) in found where isWriting {
            try Data(text.utf8).write(to: Self.directory.appending(path: file))
        }
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.directory.path)
        #expect(files.sorted() == found.keys.sorted())
        for (file, text) in found {
            let committed = try String(contentsOf: Self.directory.appending(path: file), encoding: .utf8)
            let command = "\(Self.variable)=1 swift test --disable-xctest --filter InterfaceFileTests"
            #expect(committed == text, "\(file) is out of date; regenerate it with: \(command)")
            // No signal reaches a program that does nothing for it, and introspection does not say so.
            #expect(!text.contains("<signal ") || text.contains("<!--"), "\(file) does not say who gets its signals")
        }
    }

    /// The parts of the contract that the types do not tell, for the readers of the files, by the elements that follow.
    private static let notes = [
        "    <method name=\"Suspend\">\n      <arg name=\"lifeline\"": """
        The router asks a handler in the background whether it may stop the process. If the handler has work to do, it answers
        false. Otherwise it keeps the descriptor open and its flags as they are, releases its bus name, waits for the
        bus's answer, and answers true. The router then stops the process with SIGSTOP. When the process continues, the
        descriptor has reached its end: the handler takes its name back and closes the descriptor.
        """
    ]

    private static func document(_ interface: String, _ comment: String) -> String {
        let interface = notes.reduce(interface) { text, note in
            let lines = note.value.split(separator: "\n").map { "         \($0)" }.joined(separator: "\n").dropFirst(9)
            return text.replacing(note.key, with: "    <!-- \(lines) -->\n\(note.key)")
        }
        return xml(interface, comment)
    }

    /// The comment that a maintainer has written before the interface; empty without one.
    private static func comment(of file: String) throws -> String {
        let path = directory.appending(path: file)
        guard FileManager.default.fileExists(atPath: path.path) else { return "" }
        let text = try String(contentsOf: path, encoding: .utf8)
        guard let start = text.range(of: "<node>\n"), let end = text.range(of: "  <interface ") else { return "" }
        return String(text[start.upperBound..<end.lowerBound])
    }

    private static func xml(_ interface: String, _ comment: String) -> String {
        """
        <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
        <node>
        \(comment)\(interface)</node>

        """
    }
}
