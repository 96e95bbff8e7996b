import DBus
import Foundation
import Reactor
import Testing

@testable import OpenURLBus

@Suite(.timeLimit(.minutes(5))) struct RouterLaneTests {
    @Test func connectionToAProgramThatIsNoRouterIsClosed() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "lane-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let (accepted, accept) = AsyncStream.makeStream(of: Connection.self)
        let loop = try EventLoop()
        let listener = try await PeerListener.listen(at: "unix:path=\(directory)/socket", on: loop) { accept.yield($0) }
        #expect(await RouterLane.open(at: "\(directory)/socket", on: loop)?.name == nil)
        var connections = accepted.makeAsyncIterator()
        #expect(await connections.next()?.waitUntilClosed() == .disconnected)
        await listener.close()
        // The socket is gone, so there is nothing to connect to.
        #expect(await RouterLane.open(at: "\(directory)/socket", on: loop)?.name == nil)
        loop.stop()
        try FileManager.default.removeItem(atPath: directory)
    }

    /// The connection belongs to nobody if the other end gives no name, so it may not stay open.
    @Test(arguments: ["", "no name", "org.example.NotUnique"])
    func connectionWithoutAUniqueNameIsClosed(_ name: String) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "lane-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let (accepted, accept) = AsyncStream.makeStream(of: Connection.self)
        let loop = try EventLoop()
        let interface = ExportedInterface(
            LaneInterface.name,
            [.method(LaneInterface.hello) { _, _ in name }]
        )
        let listener = try await PeerListener.listen(at: "unix:path=\(directory)/socket", on: loop) { connection in
            connection.export([interface], at: LaneInterface.path)
            accept.yield(connection)
        }
        #expect(await RouterLane.open(at: "\(directory)/socket", on: loop)?.name == nil)
        var connections = accepted.makeAsyncIterator()
        #expect(await connections.next()?.waitUntilClosed() == .disconnected)
        await listener.close()
        loop.stop()
        try FileManager.default.removeItem(atPath: directory)
    }
}
