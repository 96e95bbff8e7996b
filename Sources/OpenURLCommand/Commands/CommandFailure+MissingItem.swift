internal import DBus
internal import URLOpener

extension CommandFailure {
    /// The failure of a call for one item, with the exit status for an item that does not exist.
    ///
    /// The router reports such an item as a wrong argument, but the command line is right: the item may have existed.
    var ofMissingItem: CommandFailure {
        name == .invalidArguments ? CommandFailure(name, message, exitStatus: ExitStatus.failure) : self
    }
}
