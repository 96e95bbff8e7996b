/// Ways back to the senders of the URLs that have brought a process to the foreground.
///
/// Each is used once. Only the newest 16 are kept, so that a handler that gets many URLs cannot fill up memory.
struct ReturnPaths: Hashable {
    private struct Path: Hashable {
        let request: String
        let source: String?
    }

    /// Number of ways back that are kept.
    static let capacity = 16
    private var paths: [Path] = []

    /// Notes the sender of a URL that brings the process to the foreground.
    ///
    /// - Parameter source: the identifier of the handler that has sent the URL; nil for any other program, because
    ///   there is no way back to it.
    mutating func add(_ request: String, from source: String?) {
        paths.removeAll { $0.request == request }
        if paths.count == Self.capacity { paths.removeFirst() }
        paths.append(Path(request: request, source: source))
    }

    /// Removes and returns the way back to the sender of a request or, if the name is empty, of the latest request.
    ///
    /// This also removes the ways back for later requests, because the user goes back past them, but keeps those for
    /// earlier ones.
    mutating func take(_ request: String) -> String? {
        guard let index = request.isEmpty ? paths.indices.last : paths.firstIndex(where: { $0.request == request })
        else { return nil }
        let source = paths[index].source
        paths.removeSubrange(index...)
        return source
    }
}
