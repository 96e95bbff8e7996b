internal import DBus
internal import OpenURLBus

/// A registration for pushes with everything that the router needs to repeat it.
struct StoredRegistration: Sendable, Hashable {
    /// The name of the registration between the router and the distributor. A program that knows it can send pushes.
    var token: String
    var registration: PushRegistration
    var description = ""
    var vapid: String?
}

extension StoredRegistration: Record {
    static let fields = FieldList(
        initial: StoredRegistration(token: "", registration: .init(handler: "", instance: "", distributor: "")),
        Field("token", { $0.token }, { $0.token = $1 }, "The name of the registration."),
        Field("registration", { $0.registration }, { $0.registration = $1 }, "The registration."),
        Field("description", { $0.description }, { $0.description = $1 }, "What the pushes are for."),
        Field("vapid", { $0.vapid }, { $0.vapid = $1 }, "The server's public key.")
    )
}
