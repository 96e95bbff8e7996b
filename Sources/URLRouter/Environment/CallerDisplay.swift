internal import ByteCoding
internal import CLinux
internal import Glibc
internal import Processes

/// Finds the display of the process that asks for a launch, if the session has not told the router its display.
///
/// Without systemd, a router that runs before the desktop cannot learn the display, because a bus does not reveal the
/// variables that it gives to services. The program that opens a URL runs on its user's display.
enum CallerDisplay {
    /// The only variables that are taken over: a process must not choose how a handler loads its libraries.
    private static let names: Set<String> = [
        "DESKTOP_SESSION", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_CURRENT_DESKTOP", "XDG_SESSION_DESKTOP",
        "XDG_SESSION_TYPE",
    ]

    /// Adds the display of a process to an environment that has none.
    ///
    /// The variables are those with which the process was started. A process that is, or may be, confined is not used:
    /// it may have created its display in order to watch the user.
    static func complete(_ environment: [String: String], from caller: UInt32?) -> [String: String] {
        guard let caller, environment["DISPLAY"] == nil, environment["WAYLAND_DISPLAY"] == nil,
            !ProcessConfinement.isConfined(pid: caller),
            let bytes = ProcessFiles.bytes("environ", pid: caller, limit: 1 << 18)
        else { return environment }
        var result = environment
        // Text after the last zero byte is ignored, because the limit may have cut it short.
        for entry in bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast() {
            guard let text = String(validating: entry, as: UTF8.self), !text.hasTooManyMarks,
                let equals = text.firstIndex(of: "="), names.contains(String(text[..<equals]))
            else { continue }
            result[String(text[..<equals])] = String(text[text.index(after: equals)...])
        }
        return result
    }
}
