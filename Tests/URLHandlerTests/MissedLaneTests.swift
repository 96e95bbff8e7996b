import DBus
import Foundation
import PrivateBus
import Testing

@testable import OpenURLBus

/// A router whose lane appears after the handler has looked for it.
@Suite(.timeLimit(.minutes(5))) struct MissedLaneTests {
    @Test func firstURLMakesTheHandlerLookAgain() async throws {
        let handler = try await HandlerProcess()
        defer { handler.stop() }
        // The handler owns its name, so it has looked for the lane.
        let runtime = handler.bus.directory.appending(path: "XDG_RUNTIME_DIR").path
        try FileManager.default.createDirectory(
            atPath: "\(runtime)/openurl",
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        let path = try #require(LaneAddress.path(for: handler.bus.address, in: runtime))
        let (offers, offered) = AsyncStream.makeStream(of: String.self)
        let listener = try await PeerListener.listen(
            at: LaneAddress.address(ofPath: path),
            on: try handler.bus.makeLoop()
        ) { connection in
            let lane = ExportedInterface(
                LaneInterface.name,
                [
                    .method(LaneInterface.hello) { _, _ in ":lane.1" },
                    .method(LaneInterface.offer) { _, id in
                        offered.yield(id)
                        return Empty()
                    },
                ]
            )
            connection.export([lane], at: LaneInterface.path)
        }
        _ = try await handler.open("app:1")
        var iterator = offers.makeAsyncIterator()
        #expect(await iterator.next() == HandlerProcess.id.rawValue)
        await listener.close()
    }
}
