internal import RouterDaemon

/// The `openurld` daemon.
@main enum Program {
    static func main() {
        DaemonProcess.run(Array(CommandLine.arguments.dropFirst()))
    }
}
