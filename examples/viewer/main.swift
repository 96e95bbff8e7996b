import DBus
import Glibc
import URLHandler

/// The directory for the user's data (XDG base directory specification); nil without a home directory.
private let dataHome: String? = {
    if let value = getenv("XDG_DATA_HOME").map({ String(cString: $0) }), value.hasPrefix("/") { return value }
    return getenv("HOME").map { String(cString: $0) + "/.local/share" }
}()

guard let dataHome else {
    print("neither XDG_DATA_HOME nor HOME is set")
    exit(78)
}
let delegate = ViewerDelegate(documents: Documents(directory: "\(dataHome)/com.example.viewer"))
await Application.main("com.example.viewer", delegate: delegate)
