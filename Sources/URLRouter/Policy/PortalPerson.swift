internal import DBus
internal import Translations

/// Asks the user with the desktop portal's dialog: `org.freedesktop.impl.portal.Access`.
struct PortalPerson: PersonAsking {
    let services: ServiceOwners
    let environment: [String: String]

    private static let access: InterfaceName = "org.freedesktop.impl.portal.Access"
    private static let path: ObjectPath = "/org/freedesktop/portal/desktop"
    private static let dialog = Method<
        Arguments<ObjectPath, String, String, String, String, String, [String: Value]>,
        Arguments<UInt32, [String: Value]>
    >(access, "AccessDialog")
    private static let close = Method<Empty, Empty>("org.freedesktop.impl.portal.Request", "Close")
    private static let choice = "remember"

    func ask(_ dialog: PolicyDialog, within time: Duration) async -> PersonReply? {
        let end = ContinuousClock.now + time
        for name in OtherAppChoosers.names(environment) {
            do throws(CallError) {
                let owner = try await services.owner(of: name, starting: true, within: max(end - .now, .zero))
                guard let owner else { continue }
                return try await ask(dialog, RemoteObject(owner, Self.path), within: max(end - .now, .zero))
            } catch {
                // Either this portal has no such dialog, or it cannot be started.
                continue
            }
        }
        return nil
    }

    private func ask(
        _ dialog: PolicyDialog,
        _ portal: RemoteObject,
        within time: Duration
    ) async throws(CallError) -> PersonReply {
        let connection = services.connection
        let number = UInt64.random(in: 0 ... .max)
        guard let handle = ObjectPath("\(Self.path)/request/openurl/\(number)") else { return .no }
        var options: [String: Value] = [
            "deny_label": .string(PersonReply.no.label), "grant_label": .string(PersonReply.once.label), "modal": false,
        ]
        if dialog.isMemorable { options["choices"] = Self.choices }
        do throws(CallError) {
            let input = Arguments(handle, "", "", dialog.title, dialog.text, dialog.shownURL, options)
            let (response, results) = try await connection.call(Self.dialog, on: portal, input, timeout: time).values
            let isForLater = Self.isRemembered(results)
            if response == 0 { return isForLater ? .always : .once }
            return isForLater && response == 1 ? .never : .no
        } catch let error where error == .timedOut || error == .cancelled {
            // Nothing is waiting for this dialog any longer, so it must not stay on the screen.
            try await connection.send(Self.close, on: RemoteObject(portal.destination, handle), Empty())
            return .late
        }
    }

    /// One box to tick: an identifier, a label, no options, and the initial value.
    private static let choices = Value.array(
        [.structure([.string(choice), .string(translated("Remember the answer")), .array([], of: "(ss)"), "false"])],
        of: "(ssa(ss)s)"
    )

    private static func isRemembered(_ results: [String: Value]) -> Bool {
        guard case .array(let choices, "(ss)") = results["choices"] else { return false }
        return choices.contains(.structure([.string(choice), "true"]))
    }
}
