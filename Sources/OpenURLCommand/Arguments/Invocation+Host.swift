internal import ArgumentParser
internal import DBus
internal import Translations
internal import URLOpener

extension Invocation {
    /// Takes `--host` from the front of the arguments.
    mutating func takeHost() throws(CommandFailure) {
        guard let first = arguments.first?.text else { return }
        let option = "--host"
        let host: RemoteHost
        if first == option {
            host = try RemoteHost(arguments.dropFirst().first?.text, Array(arguments.dropFirst(2)))
        } else if first.hasPrefix("\(option)=") {
            host = try RemoteHost(String(first.dropFirst(option.count + 1)), Array(arguments.dropFirst()))
        } else {
            return
        }
        let local: [any Command.Type] = [Publish.self, Doctor.self, New.self, Check.self, Output.self]
        if let name = host.arguments.first?.text, local.contains(where: { $0.configuration.commandName == name }) {
            let reason = translated(
                "'\(name)' works on the files of one machine; run 'ssh \(host.name) openurl \(name)' instead"
            )
            throw CommandFailure(.invalidArguments, reason, exitStatus: ExitStatus.usage)
        }
        arguments = host.arguments
        bus = host.bus
        self.host = host
        environment = { [environment] name in RemoteHost.localVariables.contains(name) ? nil : environment(name) }
    }
}
