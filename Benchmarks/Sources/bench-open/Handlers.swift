import DBus
import Programs

/// The handlers of the opened URLs. Each claims the scheme at the end of its identifier.
enum Handlers {
    static let swift = "com.example.swift"
    static let other = "com.example.other"
    static let c = "com.example.c"
    static let sleeper = "com.example.sleeper"
    static let cold = "com.example.cold"
    static let coldC = "com.example.cold-c"
    static let burst = "com.example.burst"

    static func add(to directory: RouterDirectory) throws {
        let program = Program.path(besideThis: "bench-handler")
        for id in [swift, other, cold] { try directory.addHandler(id, program, [id]) }
        for id in [c, coldC] { try directory.addHandler(id, Floors.program, ["handler", id]) }
        try directory.addHandler(sleeper, program, [sleeper], times: ["OUSuspendDelay": 0.01])
        try directory.addHandler(burst, program, [burst, "count"])
    }

    /// Returns a handler's name on the bus.
    static func busName(_ id: String) throws -> BusName {
        guard let name = BusName(id) else { throw BenchmarkError("\(id) is not a bus name") }
        return name
    }

    /// Length of a long URL, in bytes.
    static let longBytes = 60_000

    static func longURL(_ id: String) -> String {
        let url = url(id)
        return url + String(repeating: "x", count: longBytes - url.utf8.count)
    }

    static func url(_ id: String, _ number: Int = 0) -> String {
        "\(id.split(separator: ".").last ?? ""):add?title=hello&body=world&number=\(number)"
    }
}
