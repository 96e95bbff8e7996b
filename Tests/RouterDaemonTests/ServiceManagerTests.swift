import Foundation
import Testing

@testable import RouterDaemon

/// The word to the service manager, on sockets that the test listens to.
@Suite struct ServiceManagerTests {
    @Test(arguments: [false, true])
    func stateArrivesAtTheSocket(isAbstract: Bool) throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "manager-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(atPath: directory) } }
        let path = "\(directory)/notify"
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = (isAbstract ? [0] : []) + Array(path.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let length = socklen_t(2 + name.count)
        let descriptor = socket(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0)
        defer { close(descriptor) }
        let isBound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) == 0 }
        }
        try #require(isBound)

        let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": isAbstract ? "@\(path)" : path]))
        try manager.tell("STOPPING=1")
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = recv(descriptor, &bytes, bytes.count, CInt(MSG_DONTWAIT))
        #expect(String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self) == "STOPPING=1")
    }

    @Test func thereIsNoManagerWithoutASocket() {
        #expect(ServiceManager(environment: [:]) == nil)
        #expect(ServiceManager(environment: ["NOTIFY_SOCKET": ""]) == nil)
        #expect(ServiceManager(environment: ["NOTIFY_SOCKET": "vsock:2:1234"]) == nil)
    }

    @Test(arguments: ["/nonexistent/notify", "/" + String(repeating: "x", count: 200)])
    func socketThatIsNotThereIsAnError(path: String) throws {
        let manager = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": path]))
        #expect(throws: (any Error).self) { try manager.tell("STOPPING=1") }
    }
}
