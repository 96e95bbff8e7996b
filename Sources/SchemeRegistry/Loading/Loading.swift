import Desktop
import Glibc

extension Registry {
    /// Loads the handlers of all directories, in one pass that blocks on files.
    ///
    /// A manifest that cannot be registered becomes a diagnostic and spoils nothing else. A directory that does not exist
    /// holds nothing; one that cannot be read is a diagnostic.
    public init(loading directories: RegistryDirectories) {
        var handlers: [Handler] = []
        var diagnostics: [Diagnostic] = []
        for (precedence, (directory, scope)) in directories.all.enumerated() {
            do {
                for name in try names(inDirectory: directory) ?? [] {
                    guard let name = String(validating: name, as: UTF8.self) else {
                        let entry = "\(directory)/\(String(decoding: name, as: UTF8.self))"
                        let reason = "has a name that is not UTF-8"
                        diagnostics.append(Diagnostic(severity: .error, file: entry, reason: reason))
                        continue
                    }
                    guard let form = HandlerForm(name: name) else { continue }
                    let entry = RegistryEntry(path: "\(directory)/\(name)", form: form)
                    do {
                        let loaded = try entry.handler(scope: scope, precedence: precedence, named: name)
                        handlers.append(loaded.handler)
                        diagnostics += loaded.warnings
                    } catch {
                        diagnostics += error.diagnostics
                    }
                }
            } catch {
                diagnostics.append(Diagnostic(severity: .error, file: directory, reason: error.reason))
            }
        }
        self.init(handlers: handlers, diagnostics: diagnostics)
    }
}

/// The two forms that a handler comes in.
enum HandlerForm: Sendable, Hashable {
    /// A directory `Name.app` with `Info.plist`.
    case bundle
    /// A file `<bundle id>.plist`.
    case manifest

    static let bundleSuffix = ".app"
    static let manifestSuffix = ".plist"
    static let bundleManifest = "Info.plist"

    /// The form that a file's name stands for; `nil` for files that are nothing to the registry.
    init?(name: String) {
        if name.hasSuffix(Self.bundleSuffix) {
            self = .bundle
        } else if name.hasSuffix(Self.manifestSuffix) {
            self = .manifest
        } else {
            return nil
        }
    }

    /// The name under which a handler is linked into a directory.
    func entryName(of id: BundleIdentifier) -> String {
        id.rawValue + (self == .bundle ? Self.bundleSuffix : Self.manifestSuffix)
    }
}
