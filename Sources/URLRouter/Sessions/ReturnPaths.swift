/// The senders of the URLs that a process has got in the foreground: the ways back.
///
/// A way back is used once. The newest 16 are kept, so that a handler with many URLs cannot fill the memory.
struct ReturnPaths: Hashable {
    private struct Path: Hashable {
        let request: String
        let source: String?
    }

    /// The number of ways back that are kept.
    static let capacity = 16
    private var paths: [Path] = []

    /// Notes the sender of a URL that brings the process to the foreground.
    ///
    /// - Parameter source: the identifier of the handler that has sent the URL; nil for any other program, to which there is no
    ///   way back.
    mutating func add(_ request: String, from source: String?) {
        paths.removeAll { $0.request == request }
        if paths.count == Self.capacity { paths.removeFirst() }
        paths.append(Path(request: request, source: source))
    }

    /// Takes the way back to the sender of a request; for an empty name, of the latest request.
    ///
    /// The ways back of later requests go with it: the person leaves the process past them. Those of earlier requests stay.
    mutating func take(_ request: String) -> String? {
        guard let index = request.isEmpty ? paths.indices.last : paths.firstIndex(where: { $0.request == request })
        else { return nil }
        let source = paths[index].source
        paths.removeSubrange(index...)
        return source
    }
}
