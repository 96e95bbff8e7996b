// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "openurl-benchmarks",
    dependencies: [
        .package(name: "openurl", path: "..")
    ],
    targets: [
        .target(name: "CAllocations"),
        .target(name: "URLCorpus"),
        .executableTarget(
            name: "compare-url",
            dependencies: ["CAllocations", "URLCorpus", .product(name: "RFC1808", package: "openurl")]
        ),
    ],
    swiftLanguageModes: [.v6]
)
