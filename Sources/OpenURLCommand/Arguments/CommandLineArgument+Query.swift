internal import OpenURLBus
internal import RFC1808
internal import URLOpener

extension CommandLineArgument {
    /// Parses the argument as a URL.
    func parsed() throws(CommandFailure) -> GenericURL {
        let text = try urlText()
        do throws(GenericURL.ParseError) {
            return try GenericURL(text)
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Returns the argument's URL with the given parameters added to its query.
    func appending(_ parameters: [KeyValue]) throws(CommandFailure) -> String {
        let url = try parsed()
        do throws(OpenURLError) {
            return try url.appending(parameters.map { ($0.key, $0.value) }).description
        } catch {
            throw CommandFailure(error)
        }
    }
}
