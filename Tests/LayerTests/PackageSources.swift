import FoundationEssentials

/// The package as its files describe it: the manifest, the table of targets, and the imports of each target.
///
/// The files are read as text. Asking the package manager would take seconds, and would need a second build directory.
struct PackageSources {
    /// A target of the manifest.
    struct Target {
        enum Kind: String {
            case target, executableTarget, testTarget, systemLibrary
        }

        let kind: Kind
        let name: String
        /// The folder of the sources, relative to the package.
        let path: String
        /// The targets of this package and the modules of other packages that the manifest declares.
        let dependencies: Set<String>
        /// The imports of the Swift files.
        let imports: [Import]

        /// The modules that the Swift files import, without the modules that come with Swift.
        var importedModules: Set<String> { Set(imports.map(\.module)).subtracting(PackageSources.toolchainModules) }
    }

    /// One line that imports a module.
    struct Import {
        let module: String
        /// The words before `import`, such as `internal` or `@testable`.
        let modifiers: [String]
        /// The file and the line's number.
        let place: String
    }

    /// The modules that need no declaration in the manifest.
    static let toolchainModules: Set = [
        "Dispatch", "Foundation", "FoundationEssentials", "Glibc", "Synchronization", "Testing",
    ]

    /// All targets, by name.
    let targets: [String: Target]
    /// The targets that are in products.
    let products: Set<String>
    /// The rows of the table in `Sources/README.md`: the imports by the name of the target.
    let table: [String: Set<String>]

    /// Reads the files of the package that a source file belongs to.
    init(containing file: String = #filePath) throws {
        // The file is in Tests/LayerTests.
        let root = "/" + file.split(separator: "/").dropLast(3).joined(separator: "/")
        let manifest = try String(contentsOfFile: "\(root)/Package.swift", encoding: .utf8)
        var targets: [String: Target] = [:]
        for declaration in Self.declarations(in: manifest) {
            targets[declaration.name] = Target(
                kind: declaration.kind,
                name: declaration.name,
                path: declaration.path,
                dependencies: declaration.dependencies,
                imports: try Self.imports(of: declaration.path, in: root)
            )
        }
        self.targets = targets
        products = Self.products(in: manifest)
        table = Self.rows(in: try String(contentsOfFile: "\(root)/Sources/README.md", encoding: .utf8))
    }

    // MARK: The manifest

    private struct Declaration {
        let kind: Target.Kind
        let name: String
        let path: String
        let dependencies: Set<String>
    }

    private static func products(in manifest: String) -> Set<String> {
        let lists = manifest.matches(of: /\.(?:library|executable)\(name: "[\w-]+", targets: \[([^\]]*)\]/)
        return Set(lists.flatMap { $0.1.matches(of: /"([\w-]+)"/).map { String($0.1) } })
    }

    private static func declarations(in manifest: String) -> [Declaration] {
        var products: [String: String] = [:]
        for match in manifest.matches(of: /let (\w+) = Target\.Dependency\.product\(name: "(\w+)"/) {
            products[String(match.1)] = String(match.2)
        }
        return manifest.matches(of: /\.(target|executableTarget|testTarget|systemLibrary)\(/).compactMap { match in
            let arguments = balanced(manifest[match.range.upperBound...], "(", ")")
            guard let kind = Target.Kind(rawValue: String(match.1)),
                let name = arguments.firstMatch(of: /name: "([\w-]+)"/)?.1
            else { return nil }
            let folder = kind == .testTarget ? "Tests" : "Sources"
            let path = arguments.firstMatch(of: /path: "([^"]+)"/)?.1
            return Declaration(
                kind: kind,
                name: String(name),
                path: path.map(String.init) ?? "\(folder)/\(name)",
                dependencies: dependencies(in: arguments, products)
            )
        }
    }

    private static func dependencies(in arguments: Substring, _ products: [String: String]) -> Set<String> {
        guard let start = arguments.firstRange(of: "dependencies: [")?.upperBound else { return [] }
        let list = balanced(arguments[start...], "[", "]")
        var names = Set(list.matches(of: /\.product\(name: "(\w+)"/).map { String($0.1) })
        let rest = list.replacing(/\.product\([^)]*\)/, with: "")
        for element in rest.split(whereSeparator: { ", \n".contains($0) }) {
            let name = String(element)
            names.insert(name.hasPrefix("\"") ? String(name.dropFirst().dropLast()) : products[name] ?? name)
        }
        return names
    }

    /// The text before the bracket that closes the one before the text.
    private static func balanced(_ text: Substring, _ open: Character, _ close: Character) -> Substring {
        var depth = 1
        for index in text.indices {
            if text[index] == open { depth += 1 }
            if text[index] == close { depth -= 1 }
            if depth == 0 { return text[..<index] }
        }
        return text
    }

    // MARK: The sources

    private static func imports(of path: String, in root: String) throws -> [Import] {
        let folder = "\(root)/\(path)"
        var imports: [Import] = []
        for file in try FileManager.default.subpathsOfDirectory(atPath: folder) where file.hasSuffix(".swift") {
            // Imports come first. A later line that looks like an import may be Python in a text of several lines.
            var rest = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)[...]
            for number in 1... {
                let end = rest.utf8.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
                let line = rest[..<end]
                rest = rest[end...].dropFirst()
                if let match = line.wholeMatch(of: /((?:[@\w]+ )*)import (\w+)/) {
                    let modifiers = match.1.split(separator: " ").map(String.init)
                    let place = "\(path)/\(file):\(number)"
                    imports.append(Import(module: String(match.2), modifiers: modifiers, place: place))
                } else if rest.isEmpty || !(line.isEmpty || line.hasPrefix("//")) {
                    break
                }
            }
        }
        return imports
    }

    // MARK: The table

    private static func rows(in text: String) -> [String: Set<String>] {
        var rows: [String: Set<String>] = [:]
        for line in text.split(separator: "\n") where line.hasPrefix("| `") {
            let cells = line.split(separator: "|")
            guard cells.count >= 3 else { continue }
            func names(_ cell: Substring) -> [String] { cell.matches(of: /`([\w-]+)`/).map { String($0.1) } }
            for target in names(cells[0]) { rows[target] = Set(names(cells[2])) }
        }
        return rows
    }
}
