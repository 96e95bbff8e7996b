import Testing

/// The layers of the package: the manifest, the table in `Sources/README.md` and the imports must agree.
@Suite struct LayerTests {
    private static let sources = Result { try PackageSources() }
    private let package: PackageSources

    init() throws {
        package = try Self.sources.get()
    }

    @Test func filesAreUnderstood() throws {
        #expect(package.targets.count > 20)
        let registry = try #require(package.targets["SchemeRegistry"])
        #expect(registry.dependencies.isSuperset(of: ["RFC1808", "Logging"]))
        #expect(!registry.imports.isEmpty)
        #expect(package.table.count > 10)
    }

    @Test func manifestDeclaresExactlyTheImports() {
        for target in package.targets.values {
            var declared = target.dependencies
            if target.kind == .testTarget {
                // Tests run these programs, and do not import them.
                declared = declared.filter { name in
                    package.targets[name]?.kind != .executableTarget || target.importedModules.contains(name)
                }
            }
            let undeclared = target.importedModules.subtracting(declared)
            #expect(undeclared.isEmpty, "\(target.name) imports \(undeclared.sorted()) without declaring it")
            let unused = declared.subtracting(target.importedModules)
            #expect(unused.isEmpty, "\(target.name) declares \(unused.sorted()) without importing it")
        }
    }

    @Test func tableListsExactlyTheImports() {
        let names = Set(package.targets.keys)
        let expected = package.targets.values.filter { $0.path.hasPrefix("Sources/") }
        #expect(Set(package.table.keys) == Set(expected.map(\.name)))
        for target in expected {
            let imports = target.importedModules.intersection(names)
            #expect(package.table[target.name] == imports, "the row of \(target.name) should list \(imports.sorted())")
        }
    }

    /// Code that only the tests need stays in the package, and no product needs it.
    @Test func productsNeedNothingOfTheTests() {
        let tests = Set(package.targets.values.filter { $0.path.hasPrefix("Tests/") }.map(\.name))
        #expect(tests.isSuperset(of: ["PrivateBus", "TestSupport"]) && package.products.contains("URLHandler"))
        #expect(package.products.isDisjoint(with: tests))
        for target in package.targets.values where !target.path.hasPrefix("Tests/") {
            #expect(target.dependencies.isDisjoint(with: tests), "\(target.name)")
        }
    }

    @Test func everyImportInSourcesHasAnAccessLevel() {
        for target in package.targets.values where target.path.hasPrefix("Sources/") {
            for line in target.imports {
                let level = line.modifiers.last ?? ""
                #expect(["internal", "package", "public"].contains(level), "\(line.place) has no access level")
            }
        }
    }

    /// A program imports one library. Apart from these libraries, a file shows which modules it uses.
    @Test func onlyTheLibrariesOfProgramsExportTheModulesOfTheirInterfaces() {
        let exports: [String: Set<String>] = [
            "OpenURL": ["DBus", "OpenURLBus", "RFC1808", "Reactor"],
            "URLHandler": ["DBus", "OpenURLBus", "RFC1808"],
            "URLHandlerTesting": ["URLHandler"],
        ]
        for target in package.targets.values {
            let exported = target.imports.filter { $0.modifiers.contains("@_exported") }
            #expect(Set(exported.map(\.module)) == exports[target.name] ?? [], "\(target.name)")
            for line in exported { #expect(line.place.contains("Exports.swift"), "\(line.place)") }
        }
        // A module with a public import is part of the interface.
        for (name, modules) in exports where name != "URLHandlerTesting" {
            let shown = package.targets[name]?.imports.filter { $0.modifiers.contains("public") } ?? []
            #expect(Set(shown.map(\.module)) == modules, "\(name)")
        }
    }

    /// Nothing above `DBus` can give libdbus an argument that ends the process.
    @Test func modulesOfCStayInTheTargetsThatWrapThem() {
        let modules = Set(package.targets.values.filter { $0.kind == .systemLibrary }.map(\.name))
        #expect(modules.contains("CDBus"))
        for target in package.targets.values where target.kind != .testTarget {
            for line in target.imports where modules.contains(line.module) {
                #expect(line.modifiers == ["internal"], "\(line.place) shows \(line.module) to importers")
            }
        }
        let importers = package.targets.values.filter { $0.importedModules.contains("CDBus") }.map(\.name)
        #expect(Set(importers) == ["DBus", "DBusTests"])
    }
}
