internal import DBus
internal import OpenURLBus

/// The object that a program calls first on the lane.
enum LaneObject {
    /// Returns the interface for the connection with the given name.
    static func interface(
        _ lane: Lane,
        _ name: BusName,
        _ offered: @escaping @Sendable (BusName) -> Void
    ) -> ExportedInterface {
        ExportedInterface(
            LaneInterface.name,
            [
                .method(LaneInterface.hello) { _, _ in name.rawValue },
                .method(LaneInterface.offer) { [unowned lane] _, id in
                    guard let id = BusName(id), !id.isUnique else {
                        throw RemoteError(.invalidArguments, "not the name of a handler")
                    }
                    try lane.offer(id, at: name)
                    offered(id)
                    return Empty()
                },
            ]
        )
    }
}
