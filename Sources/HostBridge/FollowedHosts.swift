internal import OpenURLBus

/// The hosts whose presence the bridge follows.
///
/// It belongs to the bridge's actor.
struct FollowedHosts {
    /// The effect of ``follow(_:isNeeded:)``.
    enum Change: Hashable {
        /// None: the host is followed already, or all others are needed.
        case none
        /// There was room for the host.
        case added
        /// The host has the place of another one, which is no longer followed.
        case replaced(HostName)
    }

    private(set) var names: Set<HostName> = []
    /// The hosts that are there, as far as it is known.
    private var present: Set<HostName> = []
    private let limit: Int

    /// - Parameter limit: the number of hosts.
    init(limit: Int = 4096) { self.limit = limit }

    func isThere(_ host: HostName) -> Bool { present.contains(host) }

    /// Follows one more host.
    ///
    /// - Parameter isNeeded: whether another host must keep its place.
    mutating func follow(_ host: HostName, isNeeded: (HostName) -> Bool) -> Change {
        guard !names.contains(host) else { return .none }
        guard names.count >= limit else {
            names.insert(host)
            return .added
        }
        guard let other = names.first(where: { !isNeeded($0) }) else { return .none }
        names.remove(other)
        present.remove(other)
        names.insert(host)
        return .replaced(other)
    }

    /// Notes whether a host that is followed is there.
    ///
    /// - Returns: whether it was not, as far as it was known, and is now.
    mutating func note(_ host: HostName, isThere: Bool) -> Bool {
        if isThere { return present.insert(host).inserted }
        present.remove(host)
        return false
    }

    /// Forgets which hosts are there.
    mutating func forgetPresence() { present = [] }
}
