import Foundation
import Glibc
import OpenURLBus
import Testing

/// A broken, half-written or hostile file, and the diagnostic that the router must report for the file.
struct HostileFile: Sendable {
    /// The outcome of a URL whose scheme the file claims.
    enum Outcome: Sendable, Equatable {
        case opened
        case failed(OpenURLError.Code)
    }

    /// A path relative to the directory.
    var name: String
    /// The expected diagnostic, or nil if the file is valid or is ignored by a rule. A text that ends in "..." gives
    /// only the start, because the decoder words the rest.
    var problem: String?
    /// The outcomes of URLs by the schemes that the file claims.
    var outcomes: [String: Outcome] = [:]
    var make: @Sendable (URL) throws -> Void

    /// Returns whether the found diagnostic is the expected one.
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

    /// Returns links, devices and other objects that can stand in place of any file.
    static func placeholders(_ name: (String) -> String, directory problem: String?, lost: String, limit: Int)
        -> [HostileFile]
    {
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
            link(name("dangling"), to: "../nowhere", lost),
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

    /// Bytes without a meaning.
    static let noise = (0..<4096).map { UInt8(truncatingIfNeeded: $0 &* 167) }
}
