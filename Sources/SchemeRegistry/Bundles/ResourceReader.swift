/// Reads the localised names and the launch images of handlers.
struct ResourceReader: Sendable {
    private let languages: [String]
    private let reader = PatientReader()

    /// Creates a reader for a user's languages, as ``BundleResources/init(of:languages:)`` takes them.
    init(languages: [String]) {
        self.languages = languages
    }

    /// Reads the resources of some handlers, without those on a file system that is not responding.
    func resources(of handlers: [Handler]) -> [BundleIdentifier: BundleResources] {
        guard !handlers.isEmpty else { return [:] }
        // The read begins with a path that every program can read.
        let found = reader.read("/") { [languages] silent, progress in
            var resources: [BundleIdentifier: BundleResources] = [:]
            for handler in handlers where !silent.contains(handler.path) {
                progress(handler.path)
                resources[handler.id] = BundleResources(of: handler, languages: languages)
            }
            return resources
        }
        return found ?? [:]
    }
}
