internal import DBus
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import SchemeRegistry
internal import SystemPackage

/// Notifies handlers of the changes in the system that their manifests declare (`OUObservedChanges`, Table 3-2).
///
/// A kind of change is followed only while a handler that declares it is running or suspended, because a handler reads
/// the current values itself when it is launched. While it is suspended, the router keeps the latest value of each kind
/// (``KeptNotifications``). A service that is missing reports nothing.
///
/// This belongs to the router's actor.
final class ObservedChanges {
    private let sessions: HandlerSessions
    private let systemBus: SystemBus
    /// Nil in tests without a bus.
    private let sessionBus: Connection?
    /// The kinds of changes that each handler observes, as long as it is running or suspended.
    private var observers: [BusName: Set<ObservedChange>] = [:]
    /// The latest values.
    private var latest: [ObservedChange: Value] = [:]
    /// The tasks that follow the sources on the system bus, by the paths of the sources.
    private var tasks: [ObjectPath: Task<Void, Never>] = [:]
    private var colorScheme: Task<Void, Never>?
    private var clock: WallClockAlarm?

    init(_ sessions: HandlerSessions, _ systemBus: SystemBus, _ sessionBus: Connection?) {
        self.sessions = sessions
        self.systemBus = systemBus
        self.sessionBus = sessionBus
    }

    private var shared: SharedParts { sessions.shared }

    /// Adapts to a handler that has begun or ended to run.
    func runningChanged(_ id: BusName) {
        let session = sessions[id]
        let isRunning = session?.machine.state.hasHandler == true
        let kinds = isRunning ? Set(session?.handler.manifest.observedChanges ?? []) : []
        guard kinds != observers[id] ?? [] else { return }
        observers[id] = kinds.isEmpty ? nil : kinds
        follow(observers.values.reduce([]) { $0.union($1) })
    }

    /// Follows the sources of these kinds of changes, and no others.
    private func follow(_ kinds: Set<ObservedChange>) {
        for source in PropertySource.all {
            if source.kinds.isDisjoint(with: kinds) {
                tasks.removeValue(forKey: source.path)?.cancel()
            } else if tasks[source.path] == nil {
                tasks[source.path] = shared.tasks.start {
                    await self.follow(source)
                    // If the bus has ended, the next handler that observes the source makes the router follow it again.
                    if !Task.isCancelled { self.tasks[source.path] = nil }
                }
            }
        }
        if !kinds.contains(.colorScheme) {
            colorScheme?.cancel()
            colorScheme = nil
        } else if colorScheme == nil {
            colorScheme = shared.tasks.start { await self.followColorScheme() }
        }
        if !kinds.contains(.clock) {
            clock?.cancel()
            clock = nil
        } else if clock == nil {
            followClock()
        }
        latest = latest.filter { kinds.contains($0.key) }
    }

    /// Notifies the handlers that observe a kind of change, unless they have this value already.
    private func post(_ kind: ObservedChange, _ value: Value) {
        guard latest[kind] != value else { return }
        latest[kind] = value
        for (id, kinds) in observers where kinds.contains(kind) {
            guard let session = sessions[id] else { continue }
            shared.tasks.start { [log = shared.log] in
                do throws(OpenURLError) {
                    try await session.notifications.deliver(kind.rawValue, value)
                } catch {
                    log.debug("\(id) was not notified of \(kind.rawValue): \(error)")
                }
            }
        }
    }

    // MARK: Sources

    private func follow(_ source: PropertySource) async {
        var isFirst = true
        await systemBus.follow(source.place) { properties in
            // The values at the beginning are no changes.
            for (kind, value) in source.values(properties) {
                if isFirst { latest[kind] = value } else { post(kind, value) }
            }
            isFirst = false
        }
    }

    /// The desktop's settings (org.freedesktop.portal.Settings).
    private static let settingChanged = Signal<Arguments<String, String, Value>>(
        "org.freedesktop.portal.Settings",
        "SettingChanged"
    )

    private func followColorScheme() async {
        guard let sessionBus else { return }
        let rule = MatchRule(
            sender: "org.freedesktop.portal.Desktop",
            arguments: [0: "org.freedesktop.appearance", 1: "color-scheme"]
        )
        do throws(CallError) {
            for await signal in try await sessionBus.signals(Self.settingChanged, matching: rule) {
                guard case .uint32(let scheme) = signal.body.values.2 else { continue }
                post(.colorScheme, scheme == 1 ? "dark" : scheme == 2 ? "light" : "default")
            }
        } catch {
            shared.log.debug("the bus does not report the desktop's settings: \(error)")
        }
    }

    private func followClock() {
        do throws(Errno) {
            let jumped = shared.tasks.onLoop { [self] in post(.clock, .int64(WallClock.milliseconds / 1000)) }
            let alarm = try WallClockAlarm(on: shared.loop) { event in
                if event == .clockWasSet { jumped() }
            }
            // Only an alarm that is set reports that the clock was set.
            alarm.set(.max)
            clock = alarm
        } catch {
            shared.log.debug("the clock cannot be followed: \(error)")
        }
    }
}
