internal import DBus
internal import SchemeRegistry

/// A service on the system bus whose properties say what has changed, and what each kind of change tells a handler.
struct PropertySource {
    let service: BusName
    let path: ObjectPath
    let interface: InterfaceName
    /// The properties that matter.
    let properties: Set<String>
    let kinds: Set<ObservedChange>
    /// Returns the current value of each kind, from the properties that are known; nothing for a kind that is unknown.
    let values: @Sendable ([String: Value]) -> [ObservedChange: Value]

    /// The properties, for the bus.
    var place: SystemProperties {
        SystemProperties(service: service, path: path, interface: interface, names: properties)
    }

    /// All sources on the system bus.
    static let all = [timeZone, locale, powerSource, battery, network]

    /// systemd-timedated (org.freedesktop.timedate1(5)): the name of the zone, such as `Europe/Berlin`.
    private static let timeZone = PropertySource(
        service: "org.freedesktop.timedate1",
        path: "/org/freedesktop/timedate1",
        interface: "org.freedesktop.timedate1",
        properties: ["Timezone"],
        kinds: [.timeZone]
    ) { properties in
        properties["Timezone"]?.string.map { [.timeZone: .string($0)] } ?? [:]
    }

    /// systemd-localed (org.freedesktop.locale1(5)): the variables of the locale, such as `LANG=de_DE.UTF-8`.
    private static let locale = PropertySource(
        service: "org.freedesktop.locale1",
        path: "/org/freedesktop/locale1",
        interface: "org.freedesktop.locale1",
        properties: ["Locale"],
        kinds: [.locale]
    ) { properties in
        guard case .array(let variables, _)? = properties["Locale"] else { return [:] }
        return [.locale: .array(variables, of: "s")]
    }

    /// UPower: `battery` or `external`.
    static let powerSource = PropertySource(
        service: "org.freedesktop.UPower",
        path: "/org/freedesktop/UPower",
        interface: "org.freedesktop.UPower",
        properties: ["OnBattery"],
        kinds: [.powerSource]
    ) { properties in
        properties["OnBattery"]?.bool.map { [.powerSource: $0 ? "battery" : "external"] } ?? [:]
    }

    /// UPower's device for all batteries together: the level in percent, and what happens to it.
    private static let battery = PropertySource(
        service: "org.freedesktop.UPower",
        path: "/org/freedesktop/UPower/devices/DisplayDevice",
        interface: "org.freedesktop.UPower.Device",
        properties: ["Percentage", "State"],
        kinds: [.battery]
    ) { properties in
        guard case .double(let level)? = properties["Percentage"], case .uint32(let state)? = properties["State"] else {
            return [:]
        }
        let states: [UInt32: Value] = [1: "charging", 2: "discharging", 3: "empty", 4: "full"]
        return [.battery: .options(["level": .double(level), "state": states[state] ?? "unknown"])]
    }

    /// NetworkManager: whether the machine is connected, and whether the connection is metered.
    static let network = PropertySource(
        service: "org.freedesktop.NetworkManager",
        path: "/org/freedesktop/NetworkManager",
        interface: "org.freedesktop.NetworkManager",
        properties: ["State", "Metered"],
        kinds: [.network]
    ) { properties in
        guard case .uint32(let state)? = properties["State"] else { return [:] }
        var isMetered = false
        // 1 is yes, and 3 is a guess that it is.
        if case .uint32(let metered)? = properties["Metered"] { isMetered = metered == 1 || metered == 3 }
        // 60 is connected to a network, and 70 to the Internet.
        return [.network: .options(["connected": .boolean(state >= 60), "metered": .boolean(isMetered)])]
    }
}
