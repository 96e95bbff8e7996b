extension HandlerTemplate {
    /// Returns a package with the handler and its test.
    func swiftFiles(clone: String) -> [File] {
        [
            File(
                path: "Package.swift",
                text: """
                    // swift-tools-version: 6.2
                    import PackageDescription

                    let package = Package(
                        name: "\(name)",
                        products: [.executable(name: "\(name)", targets: ["Handler"])],
                        dependencies: [.package(name: "openurl", path: "\(clone)")],
                        targets: [
                            .executableTarget(name: "Handler", dependencies: [.product(name: "URLHandler", package: "openurl")]),
                            .testTarget(
                                name: "HandlerTests",
                                dependencies: ["Handler", .product(name: "URLHandlerTesting", package: "openurl")]
                            ),
                        ]
                    )

                    """
            ),
            File(
                path: "Sources/Handler/main.swift",
                text: """
                    import URLHandler

                    // The router starts this program for the first URL. The manifest names the same identifier.
                    await Application.main("\(id)", delegate: Delegate())

                    """
            ),
            File(
                path: "Sources/Handler/Delegate.swift",
                text: """
                    import URLHandler

                    /// Answers \(scheme):?name=World with a greeting.
                    final class Delegate: ApplicationDelegate {
                        func application(
                            _ application: Application,
                            open url: GenericURL,
                            sourceApplication: String?,
                            annotation: Value?
                        ) throws -> OpenResponse {
                            guard let name = try url.queryItems.first(named: "name")?.value?.decoded(), !name.isEmpty else {
                                return .declined(reason: "there is no name; write \(scheme):?name=World")
                            }
                            print("greeting \\(name)")
                            return .handled(reply: ["greeting": .string("Hello, \\(name)!")])
                        }
                    }

                    """
            ),
            File(
                path: "Tests/HandlerTests/DelegateTests.swift",
                text: """
                    import Testing
                    import URLHandlerTesting

                    @testable import Handler

                    @MainActor @Suite struct DelegateTests {
                        @Test func nameIsGreeted() async throws {
                            let result = try await HandlerDriver(delegate: Delegate()).open("\(scheme):?name=World")
                            #expect(try result.outcome.get()["greeting"]?.string == "Hello, World!")
                        }

                        @Test func urlWithoutANameIsDeclined() async throws {
                            let result = try await HandlerDriver(delegate: Delegate()).open("\(scheme):")
                            #expect(throws: OpenURLError.self) { try result.outcome.get() }
                        }
                    }

                    """
            ),
            File(path: ".gitignore", text: ".build\n"),
        ]
    }
}
