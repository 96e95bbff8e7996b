internal import DequeModule
internal import OpenURLBus

/// The focus tokens that the router has handed over. A token is for one window, so it goes with one URL, to one receiver.
///
/// A program whose toolkit leaves the token in the environment passes it to every program that it starts, and so to
/// `openurl`. Without this memory, a handler would get such a token instead of the new one. It belongs to the router's actor.
final class FocusTokens {
    /// Number of tokens that are remembered. A sender that uses up this memory gains nothing: the compositor forgets a token
    /// when it is used, and ignores it after that.
    static let capacity = 64
    private var spent: Deque<String> = []

    /// Leaves only those tokens in a request that its receiver can use, and that no receiver has got before.
    ///
    /// If only one of the two is left, it serves as the other one too: under Wayland, GLib before 2.76 calls the token
    /// `DESKTOP_STARTUP_ID`, and GTK 4.8 looks for it there only, but Qt and KDE know `XDG_ACTIVATION_TOKEN` only.
    func spend(_ options: inout OpenOptions) {
        guard options.activationToken != nil || options.desktopStartupID != nil else { return }
        let (token, startupID) = (unspent(options.activationToken), unspent(options.desktopStartupID))
        options.activationToken = token ?? startupID
        options.desktopStartupID = startupID ?? token
        for used in Set([token, startupID].compactMap(\.self)) {
            if spent.count == Self.capacity { spent.removeFirst() }
            spent.append(used)
        }
    }

    private func unspent(_ token: String?) -> String? {
        guard let token = FocusToken.checked(token), !spent.contains(token) else { return nil }
        return token
    }
}
