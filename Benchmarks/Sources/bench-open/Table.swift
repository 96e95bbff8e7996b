import Glibc

/// All results, with one number for each figure and round.
struct Table {
    private var rounds: [[Figure: Double]] = []

    mutating func add(_ round: [Figure: Double]) {
        rounds.append(round)
    }

    func print() {
        Swift.print(padded("", 42) + "     min  median     max        ratio: min  median   max   target")
        for group in Figure.groups {
            let measured = group.filter { figure in rounds.contains { $0[figure] != nil } }
            if !measured.isEmpty { Swift.print() }
            for figure in measured { Swift.print(line(figure, floor: group[0])) }
        }
    }

    private func line(_ figure: Figure, floor: Figure) -> String {
        let values = rounds.compactMap { $0[figure] }
        // Take both numbers of a ratio from the same round, so that other load affects both.
        let ratios = rounds.compactMap { round in round[floor].flatMap { floor in round[figure].map { $0 / floor } } }
        let decimals = figure.unit == "ms" ? 2 : figure.unit == "µs" ? 1 : 0
        var line = padded(figure.title, 42) + columns(values, decimals, 8) + " " + padded(figure.unit, 2)
        if figure != floor { line += "        " + columns(ratios, 2, 7) + "   " + figure.target }
        return line
    }
}

/// Processor times of the programs, with one measurement for each figure and round.
struct ProcessorTable {
    private static let targets: [Figure: String] = [.laneRate: "≤ 1.6", .openRateC: "≤ 2.9"]
    private var rounds: [[Figure: ProcessorTime]] = []

    mutating func add(_ round: [Figure: ProcessorTime]) {
        rounds.append(round)
    }

    func print() {
        let processors = sysconf(CInt(_SC_NPROCESSORS_ONLN))
        Swift.print("\nProcessor time of one call in µs, medians; \(processors) processors")
        let parts = ProcessorTime.Part.allCases
        let titles = (parts.map(\.rawValue) + ["all"]).map { String(repeating: " ", count: 8 - $0.count) + $0 }
        Swift.print(padded("", 42) + titles.joined() + "   ratio: min  median   max   target")
        for figure in [Figure.echoRate, .routedRate, .laneRate, .openRate, .openRateC, .shortRateC] {
            let times = rounds.compactMap { $0[figure] }
            var line = padded(figure.title, 42)
            for part in parts {
                let values = times.compactMap { $0.parts[part] }
                line += values.isEmpty ? aligned("–", 8) : aligned(median(values), 1, 8)
            }
            line += aligned(median(times.map(\.all)), 1, 8)
            let ratios = rounds.compactMap { round in
                round[.echoRate].flatMap { floor in round[figure].map { $0.all / floor.all } }
            }
            if figure != .echoRate { line += "    " + columns(ratios, 2, 7) + "   " + (Self.targets[figure] ?? "") }
            Swift.print(line)
        }
    }
}

private func columns(_ values: [Double], _ decimals: Int, _ width: Int) -> String {
    guard let least = values.min(), let most = values.max() else { return "" }
    return [least, median(values), most].map { aligned($0, decimals, width) }.joined()
}

private func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
}

private func aligned(_ number: Double, _ decimals: Int, _ width: Int) -> String {
    let scale = pow(10, Double(decimals))
    let digits = "\(Int((number * scale).rounded()))"
    let all = String(repeating: "0", count: max(0, decimals + 1 - digits.count)) + digits
    let text = decimals == 0 ? all : "\(all.dropLast(decimals)).\(all.suffix(decimals))"
    return String(repeating: " ", count: max(0, width - text.count)) + text
}

private func aligned(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
}

/// Returns the median of the numbers, which must not be empty.
func median(_ numbers: [Double]) -> Double { numbers.sorted()[numbers.count / 2] }
