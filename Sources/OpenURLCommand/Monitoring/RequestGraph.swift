internal import OpenURLBus
internal import URLOpener

/// A graph of the senders and their handlers in DOT (<https://graphviz.org/doc/info/lang.html>).
struct RequestGraph {
    private struct Edge: Hashable {
        let source: String
        let handler: String
    }

    private struct Count {
        var all = 0
        var failed = 0
    }

    private var edges: [Edge: Count] = [:]

    /// Counts the requests that open URLs, but not the queue's attempts, which belong to requests that have already
    /// been counted.
    init(_ entries: [MonitorEntry]) {
        for entry in entries where entry.kind != .known(.attempt) {
            let source = entry.source ?? "unknown"
            let name = source.hasPrefix("/") ? source.split(separator: "/").last.map(String.init) ?? source : source
            let edge = Edge(source: name, handler: entry.handler ?? "no handler")
            edges[edge, default: Count()].all += 1
            if entry.error != nil { edges[edge]?.failed += 1 }
        }
    }

    func print(to output: StandardOutput) {
        output.print("digraph openurl {")
        output.print("    rankdir=LR;")
        output.print("    node [shape=box];")
        for (edge, count) in edges.sorted(by: { ($0.key.source, $0.key.handler) < ($1.key.source, $1.key.handler) }) {
            let failed = count.failed == 0 ? "" : ", \(count.failed) failed"
            let colour = count.failed == 0 ? "" : ", color=red"
            output.print(
                "    \(Self.quoted(edge.source)) -> \(Self.quoted(edge.handler)) [label=\"\(count.all)\(failed)\"\(colour)];"
            )
        }
        output.print("}")
    }

    /// Returns text as a quoted identifier. It escapes backslashes, because they begin an escape in a label.
    static func quoted(_ text: String) -> String {
        var quoted = "\""
        // As a `Character`, a quotation mark with a combining mark would not equal a quotation mark.
        for scalar in text.printable.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted += "\\" }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }
}
