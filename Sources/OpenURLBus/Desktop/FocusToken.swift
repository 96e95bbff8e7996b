/// The tokens with which a desktop lets a program take the focus: those of Wayland's `xdg_activation_v1`, and the IDs of
/// X11's startup notifications.
package enum FocusToken {
    /// Maximum length of a token in bytes. A request of the Wayland protocol has at most 4096 bytes, and a program that sends
    /// a longer one loses its connection.
    package static let maximumBytes = 1024

    /// Returns the token if a program can use it; nil if it is empty, too long, or has a control character.
    package static func checked(_ token: String?) -> String? {
        guard let token, (1...maximumBytes).contains(token.utf8.count) else { return nil }
        return token.utf8.contains { $0 < 0x20 || $0 == 0x7F } ? nil : token
    }
}
