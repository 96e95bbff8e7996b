internal import RouterDaemon

/// The `openurld` daemon.
@main enum Program {
    static func main() {
        RouterProcess.run(Array(CommandLine.arguments.dropFirst()))
    }
}
