/// A measured quantity.
struct Figure: Hashable {
    let title: String
    let unit: String
    /// The ratio to reach, as text.
    var target = ""

    static let echo = Figure(title: "C call, string in, boolean out", unit: "µs")
    static let routed = Figure(title: "C client → C router → C service", unit: "µs")
    static let lane = Figure(title: "lane, Swift client, Swift handler", unit: "µs", target: "≤ 1.5")
    static let laneC = Figure(title: "lane, Swift client, C handler", unit: "µs")
    static let open = Figure(title: "bus, C client, Swift handler", unit: "µs", target: "≤ 3.5")
    static let openC = Figure(title: "bus, C client, C handler", unit: "µs", target: "≤ 2.4")
    static let openFromMainActor = Figure(title: "lane, from the main actor, Swift handler", unit: "µs")
    static let alternating = Figure(title: "bus, two Swift handlers by turns", unit: "µs", target: "≤ 9")
    static let wake = Figure(title: "bus, Swift handler suspended", unit: "µs", target: "≤ 10")
    static let longLane = Figure(title: "lane, 60 KB, Swift handler", unit: "µs")
    static let long = Figure(title: "bus, C client, 60 KB, Swift handler", unit: "µs")

    static let echoRate = Figure(title: "C calls, 64 in flight", unit: "/s")
    static let routedRate = Figure(title: "C router, 64 in flight", unit: "/s")
    static let laneRate = Figure(title: "lane, 64 in flight, Swift handler", unit: "/s", target: "≥ 0.5")
    static let openRate = Figure(title: "bus, 64 in flight, Swift handler", unit: "/s")
    static let openRateC = Figure(title: "bus, 64 in flight, C handler", unit: "/s", target: "≥ 0.4")
    static let shortRateC = Figure(title: "the same, the client calls Open", unit: "/s")
    static let callersRate = Figure(title: "bus, 100 callers, Swift handler", unit: "/s")
    static let callersRateC = Figure(title: "bus, 100 callers, C handler", unit: "/s")

    static let manyEchoRate = Figure(title: "C calls, 1,024 in flight", unit: "/s")
    static let manyLaneRate = Figure(title: "lane, 1,024 in flight, Swift handler", unit: "/s")
    static let manyOpenRate = Figure(title: "bus, 1,024 in flight, Swift handler", unit: "/s")
    static let manyOpenRateC = Figure(title: "bus, 1,024 in flight, C handler", unit: "/s")

    static let commandInC = Figure(title: "C program that makes openurl's call", unit: "ms")
    static let command = Figure(title: "openurl URL", unit: "ms", target: "≤ 1.1")

    static let connect = Figure(title: "C program that connects and ends", unit: "ms")
    static let version = Figure(title: "openurl --version", unit: "ms")
    static let cold = Figure(title: "open, Swift handler not running", unit: "ms", target: "≤ 4")
    static let coldC = Figure(title: "open, C handler not running", unit: "ms", target: "≤ 4")

    static let burstInC = Figure(title: "1,000 calls at once, C router", unit: "ms")
    static let burst = Figure(title: "1,000 opens at once, handler not running", unit: "ms", target: "≤ 1.8")

    /// All figures in the order of the output. Ratios refer to the first figure of a group.
    static let groups: [[Figure]] = [
        [.echo, .routed, .lane, .laneC, .open, .openC, .openFromMainActor, .alternating, .wake, .longLane, .long],
        [.echoRate, .routedRate, .laneRate, .openRate, .openRateC, .shortRateC, .callersRate, .callersRateC],
        [.manyEchoRate, .manyLaneRate, .manyOpenRate, .manyOpenRateC],
        [.commandInC, .command],
        [.connect, .version, .cold, .coldC],
        [.burstInC, .burst],
    ]
}
