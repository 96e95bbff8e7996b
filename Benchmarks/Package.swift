// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "openurl-benchmarks",
    dependencies: [
        .package(name: "openurl", path: ".."),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    ],
    targets: [
        .target(name: "CAllocations"),
        .target(name: "URLCorpus"),
        .executableTarget(
            name: "compare-url",
            dependencies: ["CAllocations", "URLCorpus", .product(name: "RFC1808", package: "openurl")]
        ),
        .systemLibrary(name: "CLibDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
        .executableTarget(name: "dbus-floor", dependencies: ["CLibDBus"]),
        .executableTarget(
            name: "compare-dbus",
            dependencies: [
                .product(name: "DBus", package: "openurl"), .product(name: "Reactor", package: "openurl"),
                .product(name: "SystemPackage", package: "swift-system"),
            ]
        ),
        .executableTarget(
            name: "compare-registry",
            dependencies: [
                .product(name: "DBus", package: "openurl"), .product(name: "OpenURL", package: "openurl"),
                .product(name: "Reactor", package: "openurl"), .product(name: "SchemeRegistry", package: "openurl"),
            ],
            exclude: ["gio.py"]
        ),
        .executableTarget(
            name: "soak",
            dependencies: [
                .product(name: "DBus", package: "openurl"), .product(name: "OpenURL", package: "openurl"),
                .product(name: "Reactor", package: "openurl"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
