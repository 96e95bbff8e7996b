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
        arguments = host.arguments
        bus = host.bus
        self.host = host
        environment = { [environment] name in RemoteHost.localVariables.contains(name) ? nil : environment(name) }
    }
    /// Refuses `--host` for a command whose work no router does, because it would be done on this machine.
    func requireNoHost(for command: String) throws(CommandFailure) {
        guard let host else { return }
        let reason = translated(
            "'\(command)' works on one machine only; run 'ssh \(host.name) openurl \(command)' instead"
        )
        throw CommandFailure(.invalidArguments, reason, exitStatus: ExitStatus.usage)
    }
}
