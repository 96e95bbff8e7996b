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
