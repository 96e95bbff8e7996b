// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "openurl-benchmarks",
    dependencies: [.package(name: "openurl", path: "..")],
    targets: [
        .target(name: "CAllocations"),
        .target(name: "URLCorpus"),
        .target(
            name: "Programs",
            dependencies: [.product(name: "DBus", package: "openurl"), .product(name: "OpenURL", package: "openurl")]
        ),
        .executableTarget(
            name: "compare-url",
            dependencies: ["CAllocations", "URLCorpus", .product(name: "RFC1808", package: "openurl")]
        ),
        .executableTarget(
            name: "compare-dbus",
            dependencies: [
                "Programs",
                .product(name: "DBus", package: "openurl"), .product(name: "Reactor", package: "openurl"),
            ]
        ),
        .executableTarget(name: "bench-handler", dependencies: [.product(name: "URLHandler", package: "openurl")]),
        .executableTarget(
            name: "bench-open",
            dependencies: [
                "Programs",
                .product(name: "DBus", package: "openurl"), .product(name: "OpenURL", package: "openurl"),
                .product(name: "RFC1808", package: "openurl"), .product(name: "Reactor", package: "openurl"),
            ]
        ),
        .executableTarget(
            name: "compare-registry",
            dependencies: [
                "Programs",
                .product(name: "DBus", package: "openurl"), .product(name: "OpenURL", package: "openurl"),
                .product(name: "Reactor", package: "openurl"), .product(name: "SchemeRegistry", package: "openurl"),
            ],
            exclude: ["gio.py"]
        ),
        .executableTarget(
            name: "soak",
            dependencies: [
                "Programs",
                .product(name: "DBus", package: "openurl"), .product(name: "OpenURL", package: "openurl"),
                .product(name: "Reactor", package: "openurl"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
