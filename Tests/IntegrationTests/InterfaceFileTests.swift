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
    /// The variable that makes the test write the files.
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
                found["\(id).xml"] = Self.document("  <interface name=\"" + part[..<end.upperBound])
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
        }
    }

    private static func document(_ interface: String) -> String {
        """
        <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
        <node>
        \(interface)</node>

        """
    }
}
