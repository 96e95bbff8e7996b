internal import HostBridge

/// The `openurl-bridge` program.
@main enum Program {
    static func main() {
        BridgeProcess.run(Array(CommandLine.arguments.dropFirst()))
    }
}
