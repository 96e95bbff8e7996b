import FoundationEssentials
import Glibc
import Testing

/// A directory that is removed with everything in it.
final class TemporaryDirectory {
    let path: String

    init() throws {
        var template = Array("/tmp/openurl-router.XXXXXX".utf8CString)
        path = String(cString: try #require(mkdtemp(&template)))
    }

    deinit {
        do {
            try FileManager.default.removeItem(atPath: path)
        } catch {
            Issue.record(error)
        }
    }
}
