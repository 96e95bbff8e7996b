internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import Translations
internal import URLOpener

struct Register: Command {
    static let configuration = CommandConfiguration(
        commandName: "register",
        abstract: translated("Add handlers for this user."),
        discussion: translated("Prints each handler with its schemes and file types. Warnings go to standard error."),
        examples: [
            "openurl register com.example.hello.plist",
            "openurl register --replace Hello.app",
        ]
    )

    @Flag(help: .init(translated("Replace a handler that has the same bundle identifier.")))
    var replace = false

    @Flag(
        help: .init(
            translated(
                """
                Register until the router exits, and write no file. The handler gets the URLs that nothing else claims, and those \
                opened with 'openurl open --handler ID'.
                """
            )
        )
    )
    var ephemeral = false

    @OptionGroup var tableOptions: TableOptions

    @Argument(help: .init(translated("The path of a bundle or a manifest."), valueName: "path"), completion: .manifests)
    var paths: [CommandLineArgument]

    func validate() throws {
        if ephemeral, replace { throw ValidationError(translated("--replace and --ephemeral cannot be used together")) }
    }

    func perform(_ invocation: Invocation) -> Int32 {
        let router = RouterClient(on: invocation)
        var table = Table(columns: [
            Column(translated("ID"), .cut(least: 24)), Column(translated("CLAIMS"), .cut(least: 12)),
            Column(translated("PATH"), .cut(least: 16)),
        ])
        let method =
            ephemeral
            ? RegistryInterface.registerTemporarily : replace ? RegistryInterface.replace : RegistryInterface.register
        let batch = Batch(key: "file", printsJSON: tableOptions.json, invocation: invocation)
        let status = batch.perform(paths, name: \.shown) { (path) throws(CommandFailure) in
            if let host = invocation.host, path.bytes.first != UInt8(ascii: "/") {
                let reason = translated("'\(path.shown)' is not an absolute path; a file on \(host.name) needs one")
                throw CommandFailure(.invalidArguments, reason, exitStatus: ExitStatus.usage)
            }
            let absolute = try invocation.host == nil ? path.manifestPath() : path.absolutePath()
            let handler = try router.call(method, absolute, refusal: ExitStatus.failure)
            if tableOptions.json {
                invocation.output.print(JSON(handler).text)
            } else {
                let claims = (handler.schemes + handler.types + handler.links).joined(separator: ",")
                table.rows.append([Cell(handler.id), Cell(claims), Cell(handler.place)])
            }
            if let sentence = handler.temporary.sentence(about: handler.id), !tableOptions.json {
                invocation.errors.print(sentence)
            }
            for warning in handler.warnings {
                invocation.errors.print(translated("warning: \(handler.id): \(warning)"))
            }
            if !handler.domains.isEmpty, !tableOptions.json { noteLinks(of: handler.id, router, invocation) }
        }
        table.print(invocation, isWide: tableOptions.wide)
        return status
    }

    /// Says which links to web pages the handler gets. The router waits for the sites' answers, because it has asked them.
    private func noteLinks(of id: String, _ router: RouterClient, _ invocation: Invocation) {
        do throws(CommandFailure) {
            do throws(CommandFailure) {
                _ = try router.call(ProofsInterface.fetch, id, timeout: RouterClient.longestCall)
            } catch {
                // The list gives the reason for each site.
            }
            for proof in try router.call(ProofsInterface.list, Empty()) where proof.handler == id {
                invocation.errors.print(proof.sentence)
            }
        } catch {
            invocation.errors.print(error)
        }
    }
}
