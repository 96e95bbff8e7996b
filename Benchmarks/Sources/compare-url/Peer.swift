import Glibc

/// Another project's URL parser, in a shared object with the functions of `Peers/peer.h`.
struct Peer {
    typealias Parse = @convention(c) (UnsafePointer<CChar>, Int) -> Int

    let name: String
    let parse: Parse
    let parseComponents: Parse

    /// Loads a shared object, which stays loaded until the process exits.
    ///
    /// Returns `nil` if there is no such file or it is not a peer, because the library is not installed.
    init?(path: String) {
        guard let object = dlopen(path, RTLD_NOW | RTLD_LOCAL),
            let name = dlsym(object, "peer_name"), let parse = dlsym(object, "peer_parse"),
            let parseComponents = dlsym(object, "peer_parse_components")
        else { return nil }
        typealias Name = @convention(c) () -> UnsafePointer<CChar>
        self.name = String(cString: unsafeBitCast(name, to: Name.self)())
        self.parse = unsafeBitCast(parse, to: Parse.self)
        self.parseComponents = unsafeBitCast(parseComponents, to: Parse.self)
    }
}
