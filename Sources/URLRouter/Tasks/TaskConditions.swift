internal import DBus
internal import Logging
internal import OpenURLBus
internal import SchemeRegistry

/// Knows which conditions of tasks are true, from services on the system bus.
///
/// A service is asked and followed only while a task waits for one of its conditions. If a service is missing, its
/// conditions are true. This belongs to the router's actor.
final class TaskConditions {
    private let systemBus: SystemBus
    private let tasks: RouterTasks
    /// Called after a condition has become true or false, or known.
    private let changed: () -> Void
    /// The conditions that are known, by their sources.
    private var known: [Source: Set<TaskRequirement>] = [:]
    private var followers: [Source: Task<Void, Never>] = [:]

    init(_ systemBus: SystemBus, _ tasks: RouterTasks, changed: @escaping () -> Void) {
        self.systemBus = systemBus
        self.tasks = tasks
        self.changed = changed
    }

    /// Whether a condition is known to be true.
    func isTrue(_ requirement: TaskRequirement) -> Bool {
        known[Source(of: requirement)]?.contains(requirement) == true
    }

    /// Follows these conditions, and no others. Until the answers arrive, none of the new ones is true.
    func follow(_ requirements: Set<TaskRequirement>) {
        let sources = Set(requirements.map(Source.init(of:)))
        for source in Source.allCases where !sources.contains(source) {
            followers.removeValue(forKey: source)?.cancel()
            known[source] = nil
        }
        for source in sources where followers[source] == nil {
            followers[source] = tasks.start { await self.follow(source) }
        }
    }

    private func follow(_ source: Source) async {
        // The caller first finishes what it is doing.
        await Task.yield()
        if let properties = await properties(of: source) {
            await systemBus.follow(properties, startsService: true) { self.take(source.trueConditions($0), of: source) }
        }
        // Nobody knows better.
        if !Task.isCancelled { take(source.conditions, of: source) }
    }

    private func take(_ conditions: Set<TaskRequirement>, of source: Source) {
        guard followers[source] != nil, known[source] != conditions else { return }
        known[source] = conditions
        changed()
    }

    private func properties(of source: Source) async -> SystemProperties? {
        switch source {
        case .power: return PropertySource.powerSource.place
        case .network: return PropertySource.network.place
        case .session:
            guard let bus = await systemBus.connection() else { return nil }
            do throws(CallError) {
                return SystemProperties(
                    service: LoginManager.name,
                    path: try await bus.loginSession(),
                    interface: LoginManager.sessionInterface,
                    names: [LoginManager.idleHint]
                )
            } catch {
                systemBus.log.debug("the user has no login session: \(error)")
                return nil
            }
        }
    }

    /// A service that knows conditions.
    enum Source: CaseIterable {
        case power
        case network
        case session

        init(of requirement: TaskRequirement) {
            switch requirement {
            case .externalPower: self = .power
            case .network, .unmeteredNetwork: self = .network
            case .idle: self = .session
            }
        }

        /// Its conditions.
        var conditions: Set<TaskRequirement> { Set(TaskRequirement.allCases.filter { Source(of: $0) == self }) }

        /// Returns the conditions that are true with these properties. Properties that are missing make none false.
        func trueConditions(_ properties: [String: Value]) -> Set<TaskRequirement> {
            switch self {
            case .power:
                return PropertySource.powerSource.values(properties)[.powerSource] == "battery" ? [] : [.externalPower]
            case .network:
                let network = PropertySource.network.values(properties)[.network]?.options
                guard network?["connected"]?.bool != false else { return [] }
                return network?["metered"]?.bool == true ? [.network] : [.network, .unmeteredNetwork]
            case .session: return properties[LoginManager.idleHint]?.bool == false ? [] : [.idle]
            }
        }
    }
}
