internal import DBus
internal import Glibc
internal import Logging
internal import OpenURLBus
internal import Reactor
internal import UserFiles

/// The file with the proofs for links: `$XDG_STATE_HOME/openurl/links`, or below `$HOME/.local/state`.
///
/// Because read and write operations block, the store has its own thread.
actor ProofStore {
    private let loop: EventLoop
    private let path: String
    private var file: ListFile<LinkProof>

    /// This store's own thread as the actor's executor.
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The contents of the file.
    struct Contents {
        var proofs: [LinkProof] = []
        /// The damaged file that was kept; nil if there is none. As long as it is there, the person's decisions may be lost.
        var damaged: String?
    }

    /// Finds this user's file.
    ///
    /// - Parameter loop: A loop whose thread may block.
    /// - Returns: Nil if the environment gives no directory.
    init?(environment: [String: String], on loop: EventLoop, log: Logger) {
        guard let directory = BaseDirectories(environment: environment).stateHome else { return nil }
        self.init(path: "\(directory)/openurl/\(LinkProof.list.name)", on: loop, log: log)
    }

    init(path: String, on loop: EventLoop, log: Logger) {
        self.loop = loop
        self.path = path
        file = ListFile(path, log: log)
    }

    /// Reads the proofs.
    ///
    /// - Returns: nil if there are none yet, and any router may still make the file.
    /// - Throws: `failed` if the file cannot be read now, if other users can change it, or if another router of the user
    ///   uses it.
    func load(toChange: Bool = true) throws(RemoteError) -> Contents? {
        do throws(FileError) {
            var trust = TrustedPaths()
            try trust.check(path)
            guard !isLink(path) else { throw FileError("is a link") }
        } catch {
            guard error.isAbsence else {
                throw RemoteError(.failed, "the proofs for links cannot be used: \(printable(path)) \(error)")
            }
        }
        let proofs = try file.load(toChange: toChange)
        let damaged = "\(path).damaged"
        let isDamaged = access(damaged, F_OK) == 0
        // An earlier router may have set a damaged file aside, and written none since.
        guard proofs != nil || isDamaged else { return nil }
        return Contents(
            proofs: Array((proofs ?? []).prefix(ProofsInterface.proofs)),
            damaged: isDamaged ? damaged : nil
        )
    }

    /// Writes the proofs. When this returns, they are on disk.
    ///
    /// - Throws: `failed` with the reason.
    func save(_ proofs: [LinkProof]) throws(RemoteError) { try file.save(proofs) }

    /// Leaves the file to the next router. From now on, it is neither read nor written.
    func release() { file.release() }
}

extension LinkProof: ListedRecord {
    // Each proof has at most 64 rules of at most 256 bytes, but few have many of them.
    static let list = ListDescription(name: "links", limit: 4 << 20, contents: "proofs for links", element: "proof")
}
