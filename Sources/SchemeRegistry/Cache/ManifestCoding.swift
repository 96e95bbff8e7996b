internal import ByteCoding
internal import Desktop
internal import WebLinks

/// A manifest as bytes, with all keys in a fixed order.
///
/// The writer has checked the values, and the checksum shows that these are the bytes that it wrote. So the schemes, of
/// which there may be very many, are not checked again.
extension ManifestReading {
    func write(to writer: inout ByteWriter) {
        switch self {
        case .manifest(let manifest):
            writer.write(true)
            manifest.write(to: &writer)
        case .invalid(let problems):
            writer.write(false)
            writer.write(problems) {
                $0.write($1.key) { $0.write($1) }
                $0.write($1.reason)
            }
        }
    }

    init(from reader: inout ByteReader) throws(ByteReader.Mismatch) {
        if try reader.flag() {
            self = .manifest(try HandlerManifest(from: &reader))
        } else {
            self = .invalid(
                try reader.list { reader throws(ByteReader.Mismatch) in
                    let key = try reader.optional(string)
                    return ManifestProblem(key: key, reason: try reader.string())
                }
            )
        }
    }
}

extension HandlerManifest {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(identifier.rawValue)
        writer.write(executable) { $0.write($1.description) }
        writer.write(arguments) { $0.write($1) }
        writer.write(command) { $0.write($1.words) { $0.write($1) } }
        writer.write(desktopEntry) { $0.write($1.rawValue) }
        for text in [name, displayName, version] { writer.write(text) { $0.write($1) } }
        writer.write(icons) { $0.write($1) }
        writer.write(urlTypes) { $1.write(to: &$0) }
        writer.write(associatedDomains) { $0.write($1.description) }
        writer.write(documentTypes) { $1.write(to: &$0) }
        writer.write(typeDeclarations) { $1.write(to: &$0) }
        writer.write(fileClaims) { $1.write(to: &$0) }
        writer.write(launchImageFile)
        writer.write(backgroundModes) { $0.write($1.rawValue) }
        writer.write(observedChanges) { $0.write($1.rawValue) }
        writer.write(exitsOnSuspend)
        writer.write(queriesSchemes) { $0.write($1.rawValue) }
        for time in [launchTimeout, openTimeout, suspendDelay, transitionTimeout, backgroundTime] {
            writer.write(time) {
                $0.write($1.components.seconds)
                $0.write($1.components.attoseconds)
            }
        }
        writer.write(pushURL) { $0.write($1) }
        writer.write(environment.sorted { $0.key < $1.key }) {
            $0.write($1.key)
            $0.write($1.value)
        }
        writer.write(allowedSources) { $0.write($1) { $0.write($1.rawValue) } }
        writer.write(reach.rawValue)
        writer.write(asks)
        writer.write(answersCallbacks)
        writer.write(keepsOldProgram)
        writer.write(isFixed)
    }

    fileprivate init(from reader: inout ByteReader) throws(ByteReader.Mismatch) {
        let identifier = try checked(try reader.string(), BundleIdentifier.init)
        self.init(
            identifier: identifier,
            executable: try reader.optional { reader throws(ByteReader.Mismatch) in
                try checked(try reader.string(), Executable.init)
            }
        )
        arguments = try reader.list(string)
        command = try reader.optional { reader throws(ByteReader.Mismatch) in
            try checked(try reader.list(string), HandlerCommand.init)
        }
        desktopEntry = try reader.optional { reader throws(ByteReader.Mismatch) in
            guard let id = DesktopFileID(rawValue: try reader.string()) else { throw ByteReader.Mismatch() }
            return id
        }
        name = try reader.optional(string)
        displayName = try reader.optional(string)
        version = try reader.optional(string)
        icons = try reader.list(string)
        urlTypes = try reader.list(URLType.init(from:))
        associatedDomains = try reader.list { reader throws(ByteReader.Mismatch) in
            try checked(try reader.string(), AssociatedDomain.init(_:))
        }
        documentTypes = try reader.list(DocumentType.init(from:))
        typeDeclarations = try reader.list(TypeDeclaration.init(from:))
        fileClaims = try reader.list(FileClaim.init(from:))
        launchImageFile = try reader.string()
        backgroundModes = try reader.list { reader throws(ByteReader.Mismatch) in
            guard let mode = BackgroundMode(rawValue: try reader.string()) else { throw ByteReader.Mismatch() }
            return mode
        }
        observedChanges = try reader.list { reader throws(ByteReader.Mismatch) in
            guard let change = ObservedChange(rawValue: try reader.string()) else { throw ByteReader.Mismatch() }
            return change
        }
        exitsOnSuspend = try reader.flag()
        queriesSchemes = try reader.list(scheme)
        launchTimeout = try reader.optional(duration)
        openTimeout = try reader.optional(duration)
        suspendDelay = try reader.optional(duration)
        transitionTimeout = try reader.optional(duration)
        backgroundTime = try reader.optional(duration)
        pushURL = try reader.optional(string)
        let variables = try reader.list { reader throws(ByteReader.Mismatch) in
            (try reader.string(), try reader.string())
        }
        environment = Dictionary(variables) { first, _ in first }
        allowedSources = try reader.optional { reader throws(ByteReader.Mismatch) in
            try reader.list { reader throws(ByteReader.Mismatch) in
                try checked(try reader.string(), SourcePattern.init)
            }
        }
        reach = try checked(try reader.string(), Reach.init)
        asks = try reader.flag()
        answersCallbacks = try reader.flag()
        keepsOldProgram = try reader.flag()
        isFixed = try reader.flag()
    }
}

extension URLType {
    fileprivate func write(to writer: inout ByteWriter) {
        writer.write(name) { $0.write($1) }
        writer.write(schemes) { $0.write($1.rawValue) }
        writer.write(hosts) { $0.write($1) { $0.write($1.rawValue) } }
    }

    fileprivate init(from reader: inout ByteReader) throws(ByteReader.Mismatch) {
        let name = try reader.optional(string)
        let schemes = try reader.list(scheme)
        let hosts = try reader.optional { reader throws(ByteReader.Mismatch) in
            try reader.list { reader throws(ByteReader.Mismatch) in
                try checked(try reader.string(), HostPattern.init)
            }
        }
        self.init(name: name, schemes: schemes, hosts: hosts)
    }
}

func string(_ reader: inout ByteReader) throws(ByteReader.Mismatch) -> String {
    try reader.string()
}

private func scheme(_ reader: inout ByteReader) throws(ByteReader.Mismatch) -> Scheme {
    Scheme(checked: try reader.string())
}

private func duration(_ reader: inout ByteReader) throws(ByteReader.Mismatch) -> Duration {
    Duration(secondsComponent: try reader.signed(), attosecondsComponent: try reader.signed())
}

func checked<Written, Value, E: Error>(
    _ written: Written,
    _ make: (Written) throws(E) -> Value
) throws(ByteReader.Mismatch) -> Value {
    do throws(E) {
        return try make(written)
    } catch {
        throw ByteReader.Mismatch()
    }
}
