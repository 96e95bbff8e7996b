package import OpenURLBus
internal import SchemeRegistry
internal import UserFiles

/// The callers to which a rule applies.
///
/// | text | callers |
/// |---|---|
/// | `*` | every caller |
/// | `user`, `handler`, `sandboxed`, `remote`, `unknown` | the callers in a class |
/// | `host:NAME` | the callers on another host |
/// | `container:NAME` | the callers in a container that is shared with `openurl share` |
/// | `com.acme.*` | the handlers and sandboxes whose identifier begins with `com.acme.` |
/// | `com.acme.todolist` | the handler or sandbox with the identifier |
/// | `app:NAME` | the handler or sandbox with the identifier, which need not contain a dot; a snap's name has none |
package enum PolicySource: Sendable, Hashable, CustomStringConvertible {
    case every
    case callers(CallerClass)
    /// The name in lower case.
    case host(String)
    case container(String)
    /// The prefix, with a dot at its end.
    case applications(prefix: String)
    case application(String)

    /// Maximum length of a name, in bytes.
    package static let maximumLength = 255

    private static let hostMark = "host:"
    private static let containerMark = "container:"
    private static let applicationMark = "app:"

    /// Reads a source. Case does not matter in the table's words and marks, but it does in an identifier.
    ///
    /// - Throws: why the text is not a source, and what to write instead.
    package init(_ text: String) throws(PolicySyntaxError) {
        if text == "*" {
            self = .every
        } else if let callerClass = CallerClass(rawValue: asciiLowercased(text)) {
            self = .callers(callerClass)
        } else if asciiLowercased(text).hasPrefix(Self.hostMark) {
            self = .host(asciiLowercased(try Self.name(text.dropFirst(Self.hostMark.count), of: "a host")))
        } else if asciiLowercased(text).hasPrefix(Self.containerMark) {
            self = .container(try Self.name(text.dropFirst(Self.containerMark.count), of: "a container"))
        } else if asciiLowercased(text).hasPrefix(Self.applicationMark) {
            self = .application(try Self.name(text.dropFirst(Self.applicationMark.count), of: "an application"))
        } else {
            do throws(BundleIdentifier.ParseError) {
                _ = try SourcePattern(text)
            } catch {
                let classes = CallerClass.allCases.map(\.rawValue).joined(separator: ", ")
                throw PolicySyntaxError(
                    "'\(printable(text))' is not a source: write an identifier such as com.acme.app or com.acme.*, one of "
                        + "\(classes), host:NAME, container:NAME, app:NAME, or *"
                )
            }
            self = text.hasSuffix(".*") ? .applications(prefix: String(text.dropLast())) : .application(text)
        }
    }

    private static func name(_ text: Substring, of kind: String) throws(PolicySyntaxError) -> String {
        guard isName(text) else {
            throw PolicySyntaxError(
                "'\(printable(String(text)))' is not the name of \(kind): write letters, digits, '-', '_', '+', '.' and ':', "
                    + "at most \(maximumLength) bytes"
            )
        }
        return String(text)
    }

    /// Returns whether a string is a name that a rule can contain.
    static func isName(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.count <= maximumLength
            && text.unicodeScalars.allSatisfy { isNameScalar($0) || $0 == "." || $0 == "+" || $0 == ":" }
    }

    /// Returns whether the rule applies to a caller.
    package func matches(_ caller: PolicyCaller) -> Bool {
        switch self {
        case .every: true
        case .callers(let callerClass): caller.callerClass == callerClass
        case .host(let name): caller.host == name
        case .container(let name): caller.container == name
        case .applications(let prefix): caller.application?.hasPrefix(prefix) == true
        case .application(let id): caller.application == id
        }
    }

    /// Returns whether this source includes every caller in another one.
    func covers(_ other: PolicySource) -> Bool {
        switch (self, other) {
        case (.every, _): true
        case (.callers(.remote), .host), (.callers(.remote), .container): true
        case (.applications(let prefix), .application(let id)), (.applications(let prefix), .applications(let id)):
            id.hasPrefix(prefix)
        default: self == other
        }
    }

    /// A number that is greater for a source with fewer callers. Two sources that include the same caller and have the
    /// same number are equal.
    var specificity: Int {
        switch self {
        case .every: 0
        case .callers: 1
        case .host, .container: 2
        case .applications(let prefix): 2 + prefix.utf8.count
        case .application: .max
        }
    }

    /// The text of the source.
    package var description: String {
        switch self {
        case .every: "*"
        case .callers(let callerClass): callerClass.rawValue
        case .host(let name): Self.hostMark + name
        case .container(let name): Self.containerMark + name
        case .applications(let prefix): prefix + "*"
        case .application(let id): isIdentifier(id) ? id : Self.applicationMark + id
        }
    }
}

/// Returns whether a string without a mark can be read as an identifier.
private func isIdentifier(_ text: String) -> Bool {
    do throws(BundleIdentifier.ParseError) {
        _ = try BundleIdentifier(text)
        return true
    } catch {
        return false
    }
}

/// Why a string is not a rule, worded for whoever wrote it.
package struct PolicySyntaxError: Error, Hashable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// A caller, as a policy sees it.
package struct PolicyCaller: Sendable, Hashable {
    package let callerClass: CallerClass
    /// The verified identifier of the handler or sandbox; nil for a caller without one.
    package let application: String?
    /// The name of the caller's host in lower case; nil for a caller on this host.
    package let host: String?
    /// The name of the caller's container; nil for every other caller.
    package let container: String?

    /// Describes a caller.
    ///
    /// A name that no rule can contain counts as none.
    ///
    /// - Parameters:
    ///   - name: the caller's verified identifier, or a remote caller's host name.
    ///   - container: the name of a remote caller's container; its host is then this machine.
    package init(_ callerClass: CallerClass, name: String? = nil, container: String? = nil) {
        let name = name.flatMap { PolicySource.isName($0) ? $0 : nil }
        self.callerClass = callerClass
        switch callerClass {
        case .remote:
            application = nil
            self.container = container.flatMap { PolicySource.isName($0) ? $0 : nil }
            host = container == nil ? name.map(asciiLowercased) : nil
        case .handler, .sandboxed:
            application = name
            (host, self.container) = (nil, nil)
        case .user, .unknown:
            application = nil
            (host, self.container) = (nil, nil)
        }
    }

    /// The most specific source that includes this caller.
    package var source: PolicySource {
        application.map(PolicySource.application) ?? host.map(PolicySource.host)
            ?? container.map(PolicySource.container) ?? .callers(callerClass)
    }

    /// Whether an answer about the caller can be remembered, because a later caller with the same source is the same
    /// program, host or class of trusted programs.
    package var isMemorable: Bool {
        switch callerClass {
        case .user: true
        case .handler, .sandboxed: application != nil
        case .remote: host != nil || container != nil
        case .unknown: false
        }
    }
}
