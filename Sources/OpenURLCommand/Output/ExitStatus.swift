internal import OpenURLBus

extension ExitStatus {
    /// A command other than opening failed, such as `status` for a handler that is not there.
    static let failure: Int32 = 1
    /// Standard input or output failed. The corresponding C constant is `EX_IOERR`.
    static let inputOutput: Int32 = 74
}
