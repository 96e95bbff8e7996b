import Foundation
import Glibc
import OpenURLBus
import Testing

/// One file that is broken, half-written or meant to do harm, and what the router has to say of it.
struct HostileFile: Sendable {
    /// What becomes of a URL of a scheme that the file claims.
    enum Outcome: Sendable, Equatable {
        case opened
        case failed(OpenURLError.Code)
    }

    /// A path below the directory.
    var name: String
    /// What is wrong; nothing where a rule has the file ignored or it is right. One that ends in "..." gives the start
    /// only: the rest is the decoder's own.
    var problem: String?
    /// The schemes that it claims.
    var outcomes: [String: Outcome] = [:]
    var make: @Sendable (URL) throws -> Void

    /// Whether this is what was found.
    func isProblem(_ found: String?) -> Bool {
        guard let problem, problem.hasSuffix("...") else { return found == problem }
        return found?.hasPrefix(problem.dropLast(3)) == true
    }

    static func bytes(_ name: String, _ bytes: [UInt8], _ problem: String?) -> HostileFile {
        HostileFile(name: name, problem: problem) { try Data(bytes).write(to: $0) }
    }

    static func text(_ name: String, _ text: String, _ problem: String?) -> HostileFile {
        bytes(name, Array(text.utf8), problem)
    }

    static func link(_ name: String, to target: String, _ problem: String?) -> HostileFile {
        HostileFile(name: name, problem: problem) {
            try FileManager.default.createSymbolicLink(atPath: $0.path, withDestinationPath: target)
        }
    }

    static func sparse(_ name: String, _ problem: String) -> HostileFile {
        HostileFile(name: name, problem: problem) {
            try Data().write(to: $0)
            try #require(truncate($0.path, 1 << 30) == 0)
        }
    }

    static func node(_ name: String, _ type: mode_t, _ problem: String?) -> HostileFile {
        HostileFile(name: name, problem: problem) { try #require(mknod($0.path, type | 0o600, 0) == 0) }
    }

    static func directory(_ name: String, _ problem: String?) -> HostileFile {
        HostileFile(name: name, problem: problem) {
            try FileManager.default.createDirectory(at: $0, withIntermediateDirectories: false)
        }
    }

    /// What can stand in the place of a file, whatever is expected in it.
    static func placeholders(_ name: (String) -> String, directory problem: String?, limit: Int) -> [HostileFile] {
        var files = [
            link(name("cycle"), to: "\(name("cycle").split(separator: "/").last ?? "")", "is part of a cycle of links"),
            link(
                name("circle"),
                to: "\(name("circling").split(separator: "/").last ?? "")",
                "is part of a cycle of links"
            ),
            link(
                name("circling"),
                to: "\(name("circle").split(separator: "/").last ?? "")",
                "is part of a cycle of links"
            ),
            link(name("dangling"), to: "../nowhere", "does not exist"),
            link(name("device"), to: "/dev/zero", "is a device, not a file"),
            link(name("random"), to: "/dev/urandom", "is a device, not a file"),
            node(name("fifo"), S_IFIFO, "is a FIFO, not a file"),
            directory(name("directory"), problem),
            sparse(name("sparse"), "is larger than \(limit) bytes"),
        ]
        if getuid() != 0 {
            files.append(
                HostileFile(name: name("unreadable"), problem: "Permission denied") {
                    try #require(mknod($0.path, S_IFREG, 0) == 0)
                }
            )
        }
        return files
    }

    func opening(_ outcomes: [String: Outcome]) -> HostileFile {
        var file = self
        file.outcomes = outcomes
        return file
    }

    /// Bytes without meaning.
    static let noise = (0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 167) }
}
