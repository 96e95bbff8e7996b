internal import DBus
internal import Desktop
internal import SchemeRegistry
internal import Translations

/// Reports the choices that the portal remembers.
struct PortalCheck: SchemeCheck {
    let evidence: Evidence

    func perform(_ scheme: Scheme, expected: String, _ findings: inout Findings) {
        report(on: scheme, expected: expected, &findings)
    }

    /// Reports a problem if the portal remembers a choice that differs.
    ///
    /// - Parameter expected: the handler or application that openurl chooses; nil if it chooses none.
    func report(on scheme: Scheme, expected: String?, _ findings: inout Findings) {
        let isAsked = topic != nil
        guard let bus, bus.isAvailable(PermissionStore.name) else {
            if isAsked { findings.add(.openers, .skip, "portal", "portal", translated("is not installed")) }
            return
        }
        let choices = portalChoices(scheme, bus)
        if choices.isEmpty, isAsked {
            findings.add(.openers, .ok, "portal", "portal", translated("makes no choice of its own for \(scheme):"))
        }
        for (application, id) in choices {
            let target = files.target(of: id.rawValue)
            let caller = application.isEmpty ? translated("programs outside sandboxes") : application
            if target == expected {
                if isAsked {
                    let fact = translated("\(target), as remembered for \(caller)")
                    findings.add(.openers, .ok, "portal", "portal", fact)
                }
                continue
            }
            findings.add(
                .openers,
                .warn,
                "portal",
                "portal",
                translated(
                    """
                    opens \(scheme): URLs from \(caller) with \(target), as remembered, but openurl chooses \
                    \(expected ?? translated("nothing"))
                    """
                ),
                fix: "gdbus call --session --dest \(PermissionStore.name) --object-path \(PermissionStore.object.path) "
                    + "--method \(PermissionStore.name).Delete \(PermissionStore.table) \(scheme.mimeType)"
            )
        }
    }

    /// The schemes that the portal opens with the default application, if there is one, no matter what the user has
    /// chosen in the portal's dialog (`should_use_default_app` in xdg-desktop-portal).
    private static let schemesOfDefaults: Set = ["http", "https", "ftp", "mailto", "webcal", "calendar"]

    /// How many times in a row the user has to make the same choice before the portal stops asking, unless the store
    /// has a different number.
    private static let usualThreshold: Int32 = 3

    /// Returns the choices that the portal makes without asking, with their callers.
    private func portalChoices(_ scheme: Scheme, _ bus: SessionBus) -> [(application: String, id: DesktopFileID)] {
        let type = scheme.mimeType
        let offered = files.applications(for: type)
        guard offered.isEmpty || !Self.schemesOfDefaults.contains(scheme.rawValue) else { return [] }
        do throws(CallError) {
            let input = Arguments(PermissionStore.table, type)
            let (permissions, data) = try bus.call(PermissionStore.lookup, on: PermissionStore.object, input).values
            guard data.options?["always-ask"] != true else { return [] }
            return permissions.sorted { $0.key < $1.key }.compactMap { application, values in
                guard let id = Self.decidedChoice(values, isOnlyOne: offered.count == 1),
                    files.entries.entries[id] != nil
                else {
                    return nil
                }
                return (application, id)
            }
        } catch {
            // The store has no entry for a scheme without a choice.
            return []
        }
    }

    /// Returns the application that the portal starts without asking; nil if it asks.
    ///
    /// - Parameters:
    ///   - values: the choice, how many times in a row it was made, and the number of times after which the portal
    ///     stops asking.
    ///   - isOnlyOne: whether there is only one application to choose.
    private static func decidedChoice(_ values: [String], isOnlyOne: Bool) -> DesktopFileID? {
        guard values.count > 1, let id = DesktopFileID(rawValue: DesktopFileID.text(ofName: values[0])) else {
            return nil
        }
        let written = values.count > 2 ? Int32(values[2]) : nil
        let threshold = written ?? usualThreshold
        let times = Int32(values[1]) ?? 0
        // The largest number means that the user has chosen to be asked each time.
        return threshold != .max && (isOnlyOne || times >= threshold) ? id : nil
    }
}
