internal import DBus
internal import SchemeRegistry

extension BundleIdentifier {
    /// Creates the identifier that is the argument of a call.
    ///
    /// - Throws: `InvalidArgs` with the reason.
    init(argument text: String) throws(RemoteError) {
        do throws(ParseError) {
            try self.init(text)
        } catch {
            throw RemoteError(.invalidArguments, "the bundle identifier \(error)")
        }
    }
}
