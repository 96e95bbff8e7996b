/// A measured quantity.
struct Figure: Hashable {
    let title: String
    let unit: String
    /// The desired ratio, as text.
    var target = ""

    static let echo = Figure(title: "C call, string in, boolean out", unit: "µs")
    static let routed = Figure(title: "C client → C router → C service", unit: "µs")
    static let open = Figure(title: "open, Swift handler", unit: "µs", target: "≤ 2.5")
    static let openFromMainActor = Figure(title: "open, Swift handler, from the main actor", unit: "µs")
    static let openC = Figure(title: "open, C handler", unit: "µs", target: "≤ 2.5")
    static let alternating = Figure(title: "open, two handlers by turns", unit: "µs")
    static let wake = Figure(title: "open, handler suspended", unit: "µs")

    static let echoRate = Figure(title: "C calls, 64 in flight", unit: "/s")
    static let routedRate = Figure(title: "C router, 64 in flight", unit: "/s")
    static let openRate = Figure(title: "opens, 64 in flight, Swift handler", unit: "/s", target: "≥ 0.4")
    static let openRateC = Figure(title: "opens, 64 in flight, C handler", unit: "/s", target: "≥ 0.4")

    static let commandInC = Figure(title: "C program that makes openurl's call", unit: "ms")
    static let command = Figure(title: "openurl URL", unit: "ms", target: "≤ 1.8")

    static let connect = Figure(title: "C program that connects and ends", unit: "ms")
    static let version = Figure(title: "openurl --version", unit: "ms")
    static let cold = Figure(title: "open, Swift handler not running", unit: "ms", target: "≤ 4")
    static let coldC = Figure(title: "open, C handler not running", unit: "ms", target: "≤ 4")

    static let burstInC = Figure(title: "1,000 calls at once, C router", unit: "ms")
    static let burst = Figure(title: "1,000 opens at once, handler not running", unit: "ms", target: "≤ 1.5")

    /// All figures in the order of the output. The ratios refer to the first figure of a group.
    static let groups: [[Figure]] = [
        [.echo, .routed, .open, .openFromMainActor, .openC, .alternating, .wake],
        [.echoRate, .routedRate, .openRate, .openRateC],
        [.commandInC, .command],
        [.connect, .version, .cold, .coldC],
        [.burstInC, .burst],
    ]
}
