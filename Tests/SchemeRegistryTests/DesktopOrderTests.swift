import Desktop
import Foundation
import TestSupport
import Testing

@testable import SchemeRegistry

/// The registry and GLib choose the same on random desktops with published handlers and applications.
///
/// The desktop knows nothing of registrations, so the registry decides which handler is at which place of a handler.
@Suite struct DesktopOrderTests {
    private static let schemes = ["foo", "bar", "baz"]
    private static let types = schemes.map { "x-scheme-handler/\($0)" }
    private static let treeCount = 120

    /// A desktop with handlers that are published as the router publishes them.
    private struct Tree {
        let handlers: [Handler]
        let directories: DesktopDirectories
        /// The entries that a default names, by scheme.
        var defaults: [String: Set<String>] = [:]
        /// The entries that a file of the configuration adds, by scheme.
        var added: [String: Set<String>] = [:]
    }

    /// An answer of GLib.
    private struct Answer {
        let tree: Int
        let scheme: String
        /// The default; nil for none.
        let chosen: String?
        /// The recommended entries in order.
        let recommended: [String]

        init(line: Substring) throws {
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            try #require(fields.count == 6)
            tree = try #require(Int(fields[0]))
            scheme = String(fields[1].dropFirst("x-scheme-handler/".count))
            chosen = fields[3] == "-" ? nil : fields[3]
            recommended = fields[4].split(separator: ",").map(String.init)
        }
    }

    @Test func winnersAgreeWithGLib() throws {
        let root = try TemporaryDirectory()
        var generator = SeededGenerator(seed: 0x0DE5)
        let trees = try (0..<Self.treeCount).map { try makeTree("trees/\($0)", in: root, &generator) }
        var picks = 0
        var winners = (handlers: 0, applications: 0)
        for answer in try askGLib(about: "\(root.path)/trees") {
            let tree = trees[answer.tree]
            let scheme = try Scheme(answer.scheme)
            let registry = Registry(
                handlers: tree.handlers,
                applications: DesktopApplications(loading: tree.directories)
            )
            let comment: Comment = "tree \(answer.tree), \(scheme): \(answer.chosen ?? "-"), \(answer.recommended)"
            let winner = registry.winner(for: scheme, host: nil)
            let handlers = Set(tree.handlers.map { "\($0.id).desktop" })
            switch winner {
            case nil: #expect(answer.chosen == nil, comment)
            case .application(let entry):
                #expect(entry.id.rawValue == answer.chosen, comment)
                winners.applications += 1
            case .handler(let handler):
                // GLib offers nothing if the user has removed the entry of the only handler.
                if let chosen = answer.chosen { #expect(handlers.contains(chosen), comment) }
                winners.handlers += 1
                // GLib has a reason for the choice of this handler.
                let names = tree.defaults[answer.scheme, default: []].union(tree.added[answer.scheme, default: []])
                if let chosen = answer.chosen, names.contains(chosen) {
                    #expect("\(handler.id).desktop" == chosen, comment)
                }
            }

            // The whole order agrees. GLib has a single default.
            if tree.defaults[answer.scheme, default: []].count <= 1 {
                let expected = ([answer.chosen].compactMap { $0 } + answer.recommended.filter { $0 != answer.chosen })
                    .map { handlers.contains($0) ? "a handler" : $0 }
                let order = registry.candidates(for: scheme, host: nil).map {
                    $0.claimant.handler == nil ? $0.claimant.id : "a handler"
                }
                #expect(Array(order.prefix(expected.count)) == expected, comment)
                #expect(order.dropFirst(expected.count).allSatisfy { $0 == "a handler" }, comment)
            }

            // Every entry but GLib's own choice is a pick.
            for handler in tree.handlers where handler.schemes.contains(scheme) {
                let picked = registry.handlerPicked(by: "\(handler.id).desktop", for: scheme, host: nil)
                #expect(picked == ("\(handler.id).desktop" == answer.chosen ? nil : handler.id.rawValue), comment)
                if picked != nil { picks += 1 }
            }
        }
        // The random trees cover enough interesting cases.
        #expect(winners.handlers > 80 && winners.applications > 80 && picks > 80, "\(winners) \(picks)")
    }

    private func askGLib(about trees: String) throws -> [Answer] {
        let script =
            #filePath.split(separator: "/").dropLast(2).joined(separator: "/") + "/DesktopTests/Differential.py"
        let process = ChildProcess()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = ["/\(script)", trees, Self.types.joined(separator: ",")]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        let lines = text.split(separator: "\n")
        #expect(lines.count == Self.treeCount * Self.types.count)
        return try lines.map(Answer.init)
    }

    private func makeTree(_ name: String, in root: TemporaryDirectory, _ generator: inout SeededGenerator) throws
        -> Tree
    {
        let path = "\(root.path)/\(name)"
        let environment = [
            "HOME": path, "PATH": "/usr/bin:/bin", "XDG_CURRENT_DESKTOP": "",
            "XDG_CONFIG_HOME": "\(path)/config", "XDG_CONFIG_DIRS": "\(path)/etc",
            "XDG_DATA_HOME": "\(path)/home", "XDG_DATA_DIRS": "\(path)/data1:\(path)/data2",
        ]
        try root.write(environment.map { "\($0.key)=\($0.value)\n" }.joined(), to: "\(name)/environment")
        let command = try root.writeProgram("\(name)/bin/openurl")

        func some(_ generator: inout SeededGenerator) -> [String] {
            Self.schemes.filter { _ in generator.count(1) == 0 }
        }
        var handlers: [Handler] = []
        for letter in ["a", "f", "k", "z"] where generator.count(3) > 0 {
            let schemes = some(&generator)
            guard !schemes.isEmpty else { continue }
            let precedence = generator.count(2)
            let handler = try Handler.test(
                "com.\(letter)",
                opening: schemes,
                precedence: precedence,
                date: Int64(generator.count(2))
            )
            handlers.append(handler)
            // A package may have published the handler.
            if generator.count(3) == 0 {
                let place = "\(name)/data\(1 + generator.count(1))/applications/com.\(letter).desktop"
                try root.writeEntry(place, opening: schemes, command: "\(command) %u")
            }
        }
        for application in ["app", "com.b", "com.j", "com.zz", "zap"] {
            for place in ["home", "data1", "data2"] where generator.count(4) == 0 {
                try root.writeEntry("\(name)/\(place)/applications/\(application).desktop", opening: some(&generator))
            }
        }

        var tree = Tree(handlers: handlers, directories: DesktopDirectories(environment: environment))
        let ids = ["app", "com.b", "com.zz", "missing"].map { "\($0).desktop" } + handlers.map { "\($0.id).desktop" }
        func list(_ scheme: String, _ generator: inout SeededGenerator) throws -> [String] {
            // The lists name a handler only for its own schemes. The desktop would otherwise choose a handler that does not
            // claim the URL.
            let claimed = try ids.filter { id in
                guard let handler = handlers.first(where: { "\($0.id).desktop" == id }) else { return true }
                return try handler.schemes.contains(Scheme(scheme))
            }
            return Array(claimed.shuffled(using: &generator).prefix(1 + generator.count(1)))
        }
        for file in ["config", "etc", "home/applications", "data1/applications"] where generator.count(1) == 0 {
            var text = ""
            for group in ["Default Applications", "Added Associations", "Removed Associations"] {
                text += "[\(group)]\n"
                for scheme in Self.schemes {
                    // GLib ignores what a directory of entries removes if the directory adds nothing.
                    let isNeeded = group.hasPrefix("Added") && file.hasSuffix("applications")
                    guard isNeeded || generator.count(3) == 0 else { continue }
                    let ids = try list(scheme, &generator)
                    text += "x-scheme-handler/\(scheme)=\(ids.joined(separator: ";"));\n"
                    if group.hasPrefix("Default") { tree.defaults[scheme, default: []].formUnion(ids) }
                    if group.hasPrefix("Added"), !file.hasSuffix("applications") {
                        tree.added[scheme, default: []].formUnion(ids)
                    }
                }
            }
            try root.write(text, to: "\(name)/\(file)/mimeapps.list")
        }
        var publication = try #require(DesktopPublication(in: tree.directories, command: command))
        publication.publish(
            Registry(handlers: handlers, applications: DesktopApplications(loading: tree.directories))
        )
        #expect(publication.diagnostics == [])
        return tree
    }
}
