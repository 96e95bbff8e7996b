internal import ArgumentParser
internal import DBus
internal import Glibc
internal import OpenURLBus
internal import Reactor
internal import SystemPackage
internal import Translations
internal import URLOpener

struct Receive: Command {
    static let configuration = CommandConfiguration(
        commandName: "receive",
        abstract: translated("Take URLs from another host, at the far end of its ssh session."),
        discussion: translated(
            """
            The router of the other host runs this command through ssh. In ~/.ssh/authorized_keys, a forced command with \
            --from gives the key's owner a name, for which 'openurl policy' can have rules.
            """
        ),
        examples: [
            "openurl receive",
            "openurl receive --from desktop",
        ]
    )

    @Option(
        help: .init(translated("The name under which URLs from this host are known here."), valueName: "host"),
        transform: HostName.init(argument:)
    )
    var from: HostName?

    func validate() throws {
        if let from, from.isGroup { throw ValidationError(translated("a group of hosts cannot be a sender")) }
    }

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        guard isatty(invocation.input) == 0 else {
            let message = translated("this command is for ssh; 'openurl hosts add' says where a host is")
            throw CommandFailure(.invalidArguments, message, exitStatus: ExitStatus.usage)
        }
        // This checks that it is the router that has the router's name.
        _ = try RouterClient(on: invocation).bus()
        let bus = invocation.bus
        let (input, name) = (invocation.input, from?.rawValue ?? "")
        let outcome = Lock<CommandFailure?>(nil)
        do throws(Errno) {
            let loop = try EventLoop()
            loop.runOnCurrentThread {
                loop.startTask {
                    do throws(ConnectionError) {
                        let connection = try await Connection.open(bus, on: loop)
                        let receiver = RequestReceiver(connection, from: name, input, STDOUT_FILENO, on: loop)
                        let failure = await receiver.run()
                        outcome.withLock { $0 = failure }
                        await connection.close()
                    } catch {
                        let failure = CommandFailure(.failed, error.description, exitStatus: ExitStatus.unavailable)
                        outcome.withLock { $0 = failure }
                    }
                    loop.stop()
                }
            }
        } catch {
            throw CommandFailure(.failed, "\(error)", exitStatus: ExitStatus.unavailable)
        }
        if let failure = outcome.withLock({ $0 }) { throw failure }
        return 0
    }
}
