/// The form of a handler: a bundle or a bare manifest.
enum HandlerForm: Sendable, Hashable {
    /// A directory `Name.app` with `Info.plist`.
    case bundle
    /// A file `<bundle id>.plist`.
    case manifest

    static let bundleSuffix = ".app"
    static let manifestSuffix = ".plist"
    static let bundleManifest = "Info.plist"

    /// Recognises the form from a file name; `nil` if the name has neither suffix.
    init?(name: String) {
        if name.hasSuffix(Self.bundleSuffix) {
            self = .bundle
        } else if name.hasSuffix(Self.manifestSuffix) {
            self = .manifest
        } else {
            return nil
        }
    }

    /// Returns the name of the link that registers a handler.
    func entryName(of id: BundleIdentifier) -> String {
        id.rawValue + (self == .bundle ? Self.bundleSuffix : Self.manifestSuffix)
    }
}
