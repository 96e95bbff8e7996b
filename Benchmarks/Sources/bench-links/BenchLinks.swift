import Glibc
import Links
import OpenURLBus
import Policy
import RFC1808

/// Measures how long 10,000 rules for links take to decide about a URL. Usage: `bench-links`.
@main
struct BenchLinks {
    static func main() throws {
        print("rules                              median µs   99 %   worst")
        for (name, line) in kinds {
            let lines = (0..<10_000).map(line).joined(separator: "\n")
            let (all, problems) = LinkText(lines).rules(file: "links.conf", isUsers: true)
            precondition(all.count == 10_000, "\(problems)")
            let rules = LinkRules(all)
            let times = try measured(rules).sorted()
            print(
                name.padded(to: 34) + number(times[times.count / 2]) + number(times[times.count * 99 / 100])
                    + number(times[times.count - 1])
            )
        }
    }

    /// Kinds of rules, by number.
    static let kinds: [(String, @Sendable (Int) -> String)] = [
        ("one host each", { "open https://h\($0).example/* with b" }),
        ("the hosts below one each", { "open *://*.h\($0).example with b" }),
        ("a path of one host each", { "open https://h.example/p\($0)/* with b" }),
        ("a query of one page each", { "open https://h.example/watch?v=\($0) with b" }),
        ("a sender each", { "open * with b from app:com.example.a\($0)" }),
        ("a program each", { "open * with b from program:p\($0)" }),
        (
            "hosts, paths and senders mixed",
            {
                [
                    "open https://h\($0).example with b", "open *://*.h\($0).example/x* with b",
                    "open * with b from com.a\($0).*",
                ][$0 % 3]
            }
        ),
        ("every host, a path from a star", { "open *://*/*p\($0)x with b" }),
    ]

    /// Times of decisions in microseconds, about links of which half match a rule.
    static func measured(_ rules: LinkRules) throws -> [Double] {
        let callers = [
            LinkCaller(PolicyCaller(.user), program: "/usr/bin/p77"),
            LinkCaller(PolicyCaller(.sandboxed, name: "com.example.a77")),
        ]
        let urls = try [5, 5000, 9999, 20_000].flatMap { number in
            try [
                "https://h\(number).example/a/b?c=d", "https://www.h\(number).example/x/y",
                "https://h.example/p\(number)/z",
                "https://h.example/watch?v=\(number)", "https://else.example/a/long/path/of/a/page.html?with=a&query=1",
            ].map { try GenericURL($0) }
        }
        let moment = LinkMoment(day: 1, minute: 600)
        var times: [Double] = []
        for round in 0..<50 {
            for url in urls {
                for caller in callers {
                    let start = ContinuousClock.now
                    let decision = rules.decision(on: url, from: caller, at: moment)
                    let time = ContinuousClock.now - start
                    precondition(decision.problems.isEmpty)
                    // The first rounds fill the caches.
                    if round >= 5 { times.append(time / .microseconds(1)) }
                }
            }
        }
        return times
    }

    static func number(_ value: Double) -> String {
        let text = "\((value * 10).rounded() / 10)"
        return String(repeating: " ", count: max(1, 10 - text.count)) + text
    }
}

extension String {
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
