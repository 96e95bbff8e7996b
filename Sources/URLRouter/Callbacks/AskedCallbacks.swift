internal import DBus
internal import OpenURLBus
internal import Processes
internal import RFC1808
internal import Reactor
internal import SchemeRegistry

/// Callbacks that a URL's sender asks for, while the URL is with a handler that answers natively (x-callback-url).
final class AskedCallbacks {
    /// The session of the handler that has the URL.
    let session: HandlerSession
    /// The verified sender.
    let source: OpenContext.Source
    /// The sender's connection; nil if there is no bus.
    let connection: BusName?
    /// Number of openings that led to the URL.
    let hops: UInt32
    /// Callbacks that the sender may ask for.
    private let urls: [CallAnswer.Kind: GenericURL]
    /// The process that got the URL, as the sender of the callbacks; nil as long as none has got it.
    private var process: Caller?

    /// Returns nil if the URL asks for no callback that its sender may have.
    ///
    /// - Parameter isAllowed: Whether the sender may have a callback.
    init?(
        in url: GenericURL,
        _ session: HandlerSession,
        _ source: OpenContext.Source,
        _ connection: BusName?,
        _ hops: UInt32,
        isAllowed: (GenericURL) -> Bool
    ) {
        let parameters = FormParameters(queryOf: url)
        var urls: [CallAnswer.Kind: GenericURL] = [:]
        for kind in CallAnswer.Kind.allCases {
            guard let text = parameters["x-\(kind.rawValue)"] else { continue }
            do throws(GenericURL.ParseError) {
                let callback = try GenericURL(text)
                if isAllowed(callback) { urls[kind] = callback }
            } catch {
                // If it is not a URL, it cannot be opened.
            }
        }
        guard !urls.isEmpty else { return nil }
        self.session = session
        self.source = source
        self.connection = connection
        self.hops = hops
        self.urls = urls
    }

    /// The handler in its role as the sender of the callbacks. If no process got the URL, the router itself reports the
    /// failure on the handler's behalf.
    var answerer: Caller { process ?? handler(isConfined: false) }

    /// Notes the process that gets the URL, because it may exit as soon as it has answered. Its callbacks have the
    /// rights that they would have if it opened them itself.
    func note(_ process: HandlerProcess) {
        let pid = process.running.flatMap { UInt32(exactly: $0.pid) }
        let confinement = pid.flatMap { ProcessConfinement(pid: $0) }
        // A process that cannot be examined may be in a sandbox.
        let isConfined = pid == nil || confinement != nil || process.isHidden
        self.process =
            process.isStartedByRouter
            ? handler(isConfined: isConfined) : Self.program(pid, confinement, isConfined: isConfined)
    }

    /// Returns a process that acts for the handler, as a sender.
    private func handler(isConfined: Bool) -> Caller {
        var source = OpenContext.Source()
        source.callerClass = .known(isConfined ? .sandboxed : .handler)
        source.application = session.id.rawValue
        return Caller(source, session)
    }

    /// Returns a process that does not act for the handler, as a sender.
    private static func program(_ pid: UInt32?, _ confinement: ProcessConfinement?, isConfined: Bool) -> Caller {
        var source = OpenContext.Source()
        source.callerClass = .known(pid == nil ? .unknown : isConfined ? .sandboxed : .user)
        source.application = confinement?.application
        // A confined process may see a different program at the same path.
        if !isConfined {
            source.pid = pid
            source.executable = pid.flatMap(ProcessProgram.path)
        }
        return Caller(source)
    }

    /// Returns the callback for an outcome, with its parameters; nil if the sender asks for none.
    func callback(for outcome: Result<OpenResult, OpenURLError>) -> GenericURL? {
        do throws(OpenURLError) {
            switch outcome {
            case .success(let result):
                let texts = result.reply.sorted { $0.key < $1.key }.compactMap { key, value in
                    value.parameterText.map { (name: key, value: $0) }
                }
                return try urls[.success]?.appending(texts)
            case .failure(let error) where error.code == .cancelled:
                return urls[.cancel]
            case .failure(let error):
                let isConfined = source.callerClass.known?.isConfined ?? true
                let told = isConfined ? error.forConfinedCallers : error
                return try urls[.error]?.appending([
                    (name: "errorCode", value: told.code.rawValue), (name: "errorMessage", value: told.message),
                ])
            }
        } catch {
            // This reply does not fit into a URL.
            guard case .success = outcome else { return nil }
            return callback(for: .failure(error))
        }
    }
}

extension Value {
    /// This text, number or Boolean as a parameter's value; nil for any other type.
    fileprivate var parameterText: String? {
        switch self {
        case .string(let text): text
        case .boolean, .byte, .int16, .uint16, .int32, .uint32, .int64, .uint64, .double: description
        case .variant(let value): value.parameterText
        case .objectPath, .signature, .unixFD, .array, .structure, .dictionary: nil
        }
    }
}
