// swift-tools-version: 6.2

import PackageDescription

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let system = Target.Dependency.product(name: "SystemPackage", package: "swift-system")

// The optional programs that are built: the words in OPENURL_WITH. Each needs a library that other builds do without,
// so its product and its targets are added to the package below, in an `if`.
let optionalPrograms = Set(Context.environment["OPENURL_WITH", default: ""].split(separator: " ").map(String.init))

let package = Package(
    name: "openurl",
    products: [
        .library(name: "DBus", targets: ["DBus"]),
        .library(name: "Reactor", targets: ["Reactor"]),
        .library(name: "RFC1808", targets: ["RFC1808"]),
        .library(name: "SchemeRegistry", targets: ["SchemeRegistry"]),
        .library(name: "OpenURL", targets: ["OpenURL", "OpenURLBus", "DBus", "RFC1808"]),
        .library(name: "URLHandler", targets: ["URLHandler", "OpenURLBus", "DBus", "RFC1808"]),
        .library(name: "URLHandlerTesting", targets: ["URLHandlerTesting", "URLHandler", "OpenURLBus", "DBus"]),
        .executable(name: "openurl", targets: ["openurl"]),
        .executable(name: "openurl-command", targets: ["openurl-command"]),
        .executable(name: "openurl-remote", targets: ["openurl-remote"]),
        .executable(name: "openurld", targets: ["openurld"]),
        .executable(name: "todolist", targets: ["todolist"]),
        .executable(name: "requester", targets: ["requester"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    ],
    targets: [
        // C interfaces.
        .systemLibrary(name: "CDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
        .systemLibrary(name: "CLinux"),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),

        // Libraries, from the bottom up. `import` follows these arrows and no others.
        .target(name: "ByteCoding"),
        .target(name: "RFC1808"),
        .target(name: "Release"),
        .target(name: "UserFiles", dependencies: [system]),
        .target(name: "Processes", dependencies: ["ByteCoding", "CLinux"]),
        .target(name: "Translations", dependencies: ["CLinux", "Processes"]),
        .target(name: "Spelling", dependencies: ["Translations"]),
        .target(
            name: "Reactor",
            dependencies: ["CLinux", system, .product(name: "HeapModule", package: "swift-collections")]
        ),
        .target(
            name: "DBus",
            dependencies: [
                "ByteCoding", "CDBus", "CLinux", "Reactor",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
            ]
        ),
        .target(name: "OpenURLBus", dependencies: ["ByteCoding", "DBus", "RFC1808", "Reactor"]),
        .target(name: "RouterProgram", dependencies: ["OpenURLBus", "Processes"]),
        .target(name: "Loopback", dependencies: ["ByteCoding", "CLinux", "RFC1808"]),
        .target(name: "Desktop", dependencies: ["ByteCoding", "RFC1808", "UserFiles"]),
        .target(name: "SQLite", dependencies: ["CSQLite"]),
        .target(name: "WebLinks", dependencies: ["RFC1808", "UserFiles"]),
        .target(
            name: "SchemeRegistry",
            dependencies: [
                "ByteCoding", "Desktop", "RFC1808", "Reactor", "SQLite", "Spelling", "UserFiles", "WebLinks", logging,
                system,
            ]
        ),
        .target(
            name: "Policy",
            dependencies: ["ByteCoding", "OpenURLBus", "RFC1808", "SchemeRegistry", "UserFiles"]
        ),
        .target(
            name: "Links",
            dependencies: ["ByteCoding", "Desktop", "OpenURLBus", "Policy", "RFC1808", "SchemeRegistry", "UserFiles"]
        ),
        .target(
            name: "URLRouter",
            dependencies: [
                "ByteCoding", "CLinux", "DBus", "Desktop", "Links", "OpenURLBus", "Policy", "Processes", "Reactor",
                "Release",
                "RFC1808", "SchemeRegistry", "SQLite", "Translations", "UserFiles", "WebLinks", logging, system,
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
            ]
        ),
        .target(
            name: "LinkSettings",
            dependencies: ["Desktop", "Links", "SchemeRegistry", "Translations", "UserFiles"]
        ),
        .target(
            name: "Doctor",
            dependencies: [
                "DBus", "Desktop", "LinkSettings", "Links", "OpenURLBus", "Processes", "RFC1808", "Release",
                "RouterProgram", "SchemeRegistry",
                "Spelling", "Translations", "UserFiles",
            ]
        ),
        .target(
            name: "OpenURL",
            dependencies: ["DBus", "Loopback", "OpenURLBus", "Reactor", "RFC1808", "RouterProgram"]
        ),
        .target(
            name: "URLHandler",
            dependencies: [
                "ByteCoding", "CLinux", "DBus", "OpenURLBus", "Reactor", "RFC1808", "UserFiles",
                .product(name: "DequeModule", package: "swift-collections"),
            ]
        ),
        .target(name: "URLHandlerTesting", dependencies: ["DBus", "OpenURLBus", "RFC1808", "Reactor", "URLHandler"]),

        // Programs: what each does is a library, so that tests can run it in their own process.
        .target(
            name: "URLOpener",
            dependencies: [
                "ByteCoding", "DBus", "OpenURLBus", "Processes", "RFC1808", "Release", "RouterProgram", "Spelling",
                "Translations",
            ]
        ),
        .executableTarget(name: "openurl", dependencies: ["Processes", "URLOpener"]),
        .target(
            name: "Relay",
            dependencies: [
                "CLinux", "DBus", "Loopback", "OpenURL", "OpenURLBus", "Processes", "RFC1808", "Reactor", "URLOpener",
                "UserFiles",
            ]
        ),
        .executableTarget(name: "openurl-remote"),
        .target(
            name: "OpenURLCommand",
            dependencies: [
                "CLinux", "DBus", "Loopback", "OpenURLBus", "Processes", "RFC1808", "Reactor", "Relay", "Release",
                "Spelling", "Translations", "URLOpener", "UserFiles",
                argumentParser, system,
            ],
            resources: ["bash", "fish", "zsh"].map { .embedInCode("Completion/Scripts/openurl.\($0)") }
        ),
        .executableTarget(name: "openurl-command", dependencies: ["OpenURLCommand", "Processes", "URLOpener"]),
        .target(
            name: "RouterDaemon",
            dependencies: [
                "DBus", "Desktop", "Doctor", "LinkSettings", "OpenURLBus", "Processes", "Reactor", "Release",
                "SchemeRegistry", "URLRouter", "UserFiles",
                logging, system,
            ]
        ),
        .executableTarget(name: "openurld", dependencies: ["RouterDaemon"]),

        // Examples: they build, run and are tested.
        .executableTarget(
            name: "hello",
            dependencies: ["URLHandler"],
            path: "examples/hello",
            exclude: ["com.example.hello.plist"]
        ),
        .executableTarget(
            name: "viewer",
            dependencies: ["DBus", "RFC1808", "URLHandler"],
            path: "examples/viewer",
            exclude: ["com.example.viewer.plist"]
        ),
        .target(
            name: "TodoList",
            dependencies: ["DBus", "RFC1808", "URLHandler"],
            path: "examples/todolist/TodoList"
        ),
        .executableTarget(
            name: "todolist",
            dependencies: ["DBus", "TodoList", "URLHandler"],
            path: "examples/todolist/todolist"
        ),
        .executableTarget(
            name: "requester",
            dependencies: ["DBus", "OpenURL", "OpenURLBus", "RFC1808"],
            path: "examples/requester"
        ),

        .executableTarget(
            name: "login",
            dependencies: ["OpenURL", "OpenURLBus", "RFC1808"],
            path: "examples/login",
            exclude: ["README.md", "server", "sign-in"]
        ),

        // It measures a target that is not a product, so the package of benchmarks cannot have it.
        .executableTarget(
            name: "bench-links",
            dependencies: ["Links", "OpenURLBus", "Policy", "RFC1808"],
            path: "Benchmarks/Sources/bench-links"
        ),

        // Tests.
        .testTarget(name: "RFC1808Tests", dependencies: ["RFC1808", "TestSupport"], resources: [.copy("Cases")]),
        .target(name: "PrivateBus", dependencies: ["Reactor", "TestSupport"], path: "Tests/PrivateBus"),
        .target(name: "TestSupport", dependencies: ["CLinux", "Reactor"], path: "Tests/TestSupport"),
        .target(
            name: "HostileSites",
            dependencies: ["TestSupport"],
            path: "Tests/HostileSites",
            exclude: ["hostile_sites.py"]
        ),
        .testTarget(name: "TestSupportTests", dependencies: ["TestSupport"]),
        .testTarget(
            name: "DBusTests",
            dependencies: ["CDBus", "DBus", "PrivateBus", "Reactor", "TestSupport"],
            exclude: ["Programs"]
        ),
        .testTarget(name: "ReactorTests", dependencies: ["CLinux", "Reactor", "TestSupport", system]),
        .executableTarget(
            name: "testhandler",
            dependencies: ["DBus", "OpenURL", "OpenURLBus", "RFC1808", "URLHandler"],
            path: "Tests/TestHandler"
        ),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "DBus", "HostileSites", "OpenURL", "OpenURLBus", "PrivateBus", "RFC1808", "Reactor", "Relay",
                "TestSupport",
                "hello", "login", "openurl", "openurl-command", "openurl-remote",
                "openurld", "requester", "testhandler", "todolist", "viewer",
            ],
            exclude: ["Completion/press_tab.py", "FalseRouters", "Programs"],
            resources: [.copy("Handlers")]
        ),
        .testTarget(name: "OpenURLBusTests", dependencies: ["DBus", "OpenURLBus", "RFC1808", "Reactor"]),
        .testTarget(
            name: "OpenURLTests",
            dependencies: [
                "DBus", "Loopback", "OpenURL", "OpenURLBus", "PrivateBus", "RFC1808", "Reactor", "TestSupport",
            ]
        ),
        .testTarget(
            name: "URLRouterTests",
            dependencies: [
                "DBus", "Desktop", "Links", "OpenURLBus", "Policy", "PrivateBus", "Processes", "RFC1808", "Reactor",
                "SchemeRegistry", "SQLite", "TestSupport", "URLRouter", "UserFiles", "WebLinks",
                logging,
                system,
            ]
        ),
        .testTarget(
            name: "URLHandlerTests",
            dependencies: [
                "ByteCoding", "CLinux", "DBus", "OpenURLBus", "PrivateBus", "RFC1808", "Reactor", "TestSupport",
                "URLHandler",
                "URLHandlerTesting", "UserFiles", "testhandler",
            ]
        ),
        .testTarget(
            name: "CLITests",
            dependencies: [
                "DBus", "OpenURLBus", "PrivateBus", "Reactor", "TestSupport",
                "openurl", "openurl-command", "openurl-remote", "openurld",
            ]
        ),
        .testTarget(
            name: "OpenURLCommandTests",
            dependencies: [
                "CLinux", "DBus", "OpenURLBus", "OpenURLCommand", "Reactor", "TestSupport", "URLOpener", argumentParser,
            ]
        ),
        .testTarget(
            name: "DoctorTests",
            dependencies: [
                "DBus", "Desktop", "Doctor", "OpenURLBus", "PrivateBus", "Processes", "Reactor", "Release",
                "SchemeRegistry", "TestSupport", "UserFiles",
            ]
        ),
        .testTarget(name: "RouterDaemonTests", dependencies: ["OpenURLBus", "Release", "RouterDaemon", logging]),
        .testTarget(
            name: "DesktopTests",
            dependencies: ["Desktop", "TestSupport", "UserFiles"],
            exclude: ["Differential.py", "GuessTypes.py", "Programs"]
        ),
        .testTarget(name: "SpellingTests", dependencies: ["Spelling"]),
        .testTarget(name: "TranslationsTests", dependencies: ["TestSupport", "Translations"]),
        .testTarget(name: "ByteCodingTests", dependencies: ["ByteCoding", "TestSupport"]),
        .testTarget(name: "LoopbackTests", dependencies: ["Loopback", "RFC1808", "TestSupport"]),
        .testTarget(
            name: "RelayTests",
            dependencies: ["OpenURLBus", "RFC1808", "Reactor", "Relay", "TestSupport"],
            exclude: ["Programs"]
        ),
        .testTarget(name: "LayerTests"),
        .testTarget(name: "ProcessesTests", dependencies: ["Processes", "TestSupport"]),
        .testTarget(name: "RouterProgramTests", dependencies: ["RouterProgram", "TestSupport"]),
        .testTarget(
            name: "PolicyTests",
            dependencies: ["OpenURLBus", "Policy", "RFC1808", "SchemeRegistry", "TestSupport", "UserFiles"]
        ),
        .testTarget(
            name: "LinksTests",
            dependencies: [
                "Desktop", "Links", "OpenURLBus", "Policy", "RFC1808", "SchemeRegistry", "TestSupport", "UserFiles",
            ],
            resources: [.copy("Cases")]
        ),
        .testTarget(name: "UserFilesTests", dependencies: ["TestSupport", "UserFiles"]),
        .testTarget(name: "SQLiteTests", dependencies: ["SQLite"]),
        .testTarget(
            name: "SchemeRegistryTests",
            dependencies: [
                "ByteCoding", "Desktop", "RFC1808", "Reactor", "SQLite", "SchemeRegistry", "TestSupport", "UserFiles",
                "WebLinks", logging,
            ]
        ),
        .testTarget(name: "WebLinksTests", dependencies: ["RFC1808", "WebLinks"]),
        .testTarget(
            name: "TodoListTests",
            dependencies: [
                "DBus", "OpenURLBus", "RFC1808", "TestSupport", "TodoList", "URLHandler", "URLHandlerTesting",
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

if optionalPrograms.contains("bridge") {
    package.products.append(.executable(name: "openurl-bridge", targets: ["openurl-bridge"]))
    package.targets += [
        .systemLibrary(name: "CMosquitto", pkgConfig: "libmosquitto", providers: [.apt(["libmosquitto-dev"])]),
        .target(name: "MQTT", dependencies: ["CMosquitto", "Reactor", system]),
        .target(
            name: "HostBridge",
            dependencies: [
                "DBus", "MQTT", "OpenURLBus", "Reactor", "Release", "UserFiles", logging, system,
                .product(name: "DequeModule", package: "swift-collections"),
            ]
        ),
        .executableTarget(name: "openurl-bridge", dependencies: ["HostBridge"]),
        .testTarget(
            name: "HostBridgeTests",
            dependencies: [
                "DBus", "HostBridge", "MQTT", "OpenURLBus", "PrivateBus", "Reactor", "TestSupport", "openurl-bridge",
                "openurld", "testhandler",
            ]
        ),
    ]
}

if optionalPrograms.contains("proofs") {
    package.products.append(.executable(name: "openurl-proofs", targets: ["openurl-proofs"]))
    package.targets += [
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CJansson", pkgConfig: "jansson", providers: [.apt(["libjansson-dev"])]),
        .target(name: "SiteProofs", dependencies: ["CCurl", "CJansson", "UserFiles", "WebLinks"]),
        .executableTarget(name: "openurl-proofs", dependencies: ["CLinux", "Release", "SiteProofs", "WebLinks"]),
        .testTarget(
            name: "SiteProofsTests",
            dependencies: ["HostileSites", "SiteProofs", "TestSupport", "WebLinks", "openurl-proofs"]
        ),
    ]
}

if optionalPrograms.contains("chooser") {
    package.products.append(.executable(name: "openurl-chooser", targets: ["openurl-chooser"]))
    package.targets += [
        .systemLibrary(name: "CGTK", pkgConfig: "gtk4", providers: [.apt(["libgtk-4-dev"])]),
        .target(name: "Chooser", dependencies: ["CGTK", "RFC1808", "Release", "Translations"]),
        .executableTarget(name: "openurl-chooser", dependencies: ["Chooser"]),
        .testTarget(name: "ChooserTests", dependencies: ["Chooser", "RFC1808"]),
    ]
}

// In these targets `unsafe` marks every expression that the compiler cannot prove to be memory-safe:
// https://github.com/swiftlang/swift-evolution/blob/main/proposals/0458-strict-memory-safety.md
// The others call C on most lines, where the marks would hide the code.
let strictTargets: Set = [
    "ByteCoding", "OpenURL", "OpenURLBus", "RFC1808", "Release", "RouterProgram", "SchemeRegistry", "Spelling",
    "URLHandler", "URLHandlerTesting", "WebLinks",
]

for target in package.targets where target.type != .system {
    target.swiftSettings = [
        // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
        .enableUpcomingFeature("ExistentialAny"),
        // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
        .enableUpcomingFeature("MemberImportVisibility"),
        // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
        .enableUpcomingFeature("InternalImportsByDefault"),
        // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0461-async-function-isolation.md
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ]
    if strictTargets.contains(target.name) { target.swiftSettings?.append(.strictMemorySafety()) }
}
