internal import DBus
internal import Logging
internal import OpenURLBus

/// Properties of an object on the system bus.
struct SystemProperties: Sendable, Hashable {
    let service: BusName
    let path: ObjectPath
    let interface: InterfaceName
    let names: Set<String>
}

extension SystemBus {
    /// Reports the values of properties, and reports them again after each change, until the task is cancelled or the bus
    /// ends. If the service is not running, there are no values at first.
    ///
    /// - Parameters:
    ///   - startsService: whether the bus may start the service.
    ///   - report: takes all values that are known. It is not called without a system bus.
    func follow(
        _ properties: SystemProperties,
        startsService: Bool = false,
        _ report: ([String: Value]) -> Void
    ) async {
        guard let bus = await connection() else { return }
        let rule = MatchRule(
            sender: properties.service,
            path: properties.path,
            arguments: [0: properties.interface.rawValue]
        )
        do throws(CallError) {
            let signals = try await bus.signals(PropertiesInterface.changed, matching: rule)
            var values = await current(properties, startsService, bus)
            guard !Task.isCancelled else { return }
            report(values)
            for await signal in signals {
                let (_, changed, invalidated) = signal.body.values
                values.merge(changed.filter { properties.names.contains($0.key) }) { $1 }
                if !properties.names.isDisjoint(with: invalidated) {
                    values.merge(await current(properties, startsService, bus)) { $1 }
                }
                guard !Task.isCancelled else { return }
                report(values)
            }
        } catch {
            log.debug("the system bus does not report changes of \(properties.service): \(error)")
        }
    }

    private func current(
        _ properties: SystemProperties,
        _ startsService: Bool,
        _ bus: Connection
    ) async -> [String: Value] {
        let object = RemoteObject(properties.service, properties.path, startsService: startsService)
        do throws(CallError) {
            let all = try await bus.getAll(properties.interface, on: object, timeout: Self.timeout)
            return all.filter { properties.names.contains($0.key) }
        } catch {
            log.debug("\(properties.service) did not report its properties: \(error)")
            return [:]
        }
    }
}

extension Connection {
    /// Returns the object of the user's login session, on a connection to the system bus.
    func loginSession() async throws(CallError) -> ObjectPath {
        try await call(LoginManager.getSession, on: LoginManager.object, "auto", timeout: SystemBus.timeout)
    }
}
