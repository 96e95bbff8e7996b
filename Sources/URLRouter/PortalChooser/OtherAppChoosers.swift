internal import DBus
internal import OpenURLBus

/// The desktop's other backends that can ask the user for an application.
struct OtherAppChoosers: Sendable {
    let services: ServiceOwners

    /// How long the user may take to answer. The portal sets no limit, but a call needs one.
    private static let timeout = Duration.seconds(3600)

    /// Passes a question on.
    ///
    /// - Parameters:
    ///   - environment: the session's environment, which names the desktop.
    ///   - handle: lets the portal close the question.
    /// - Returns: the first backend's answer; nil if there is no backend that can answer.
    func ask(
        _ question: PortalChooser.Question,
        _ environment: [String: String],
        _ handle: RequestHandle
    ) async -> PortalChooser.Answer? {
        defer { handle.withdraw = nil }
        for name in Self.names(environment) where name != AppChooserPortal.name {
            do throws(CallError) {
                let owner = try await services.owner(of: name, starting: true, within: Self.timeout)
                guard let owner else { continue }
                let input = Arguments(
                    question.handle,
                    question.application,
                    question.parentWindow,
                    question.choices,
                    question.options
                )
                let backend = RemoteObject(owner, AppChooserPortal.path)
                handle.withdraw = { close(question.handle, at: owner) }
                if handle.isCancelled { return Arguments(AppChooserPortal.Response.cancelled.rawValue, [:]) }
                return try await services.connection.call(
                    AppChooserPortal.chooseApplication,
                    on: backend,
                    input,
                    timeout: Self.timeout
                )
            } catch {
                // This backend has no such dialog, or it cannot be started.
                continue
            }
        }
        return nil
    }

    private func close(_ handle: ObjectPath, at backend: BusName) {
        services.connection.assumeIsolated { connection in
            do throws(CallError) {
                try connection.send(AppChooserPortal.close, on: RemoteObject(backend, handle), Empty())
            } catch {
                // The connection has ended, and so has the question.
            }
        }
    }

    /// The names of the desktop's own backend and of the one that most desktops have.
    static func names(_ environment: [String: String]) -> [BusName] {
        let desktops = (environment["XDG_CURRENT_DESKTOP"] ?? "").split(separator: ":").prefix(4).map {
            $0.lowercased()
        }
        return (desktops + ["gtk"]).compactMap { BusName("org.freedesktop.impl.portal.desktop.\($0)") }
    }
}
