import Foundation
import Glibc
import OpenURLBus
import TestSupport

/// Bundles for the handlers' directory: directories with missing, extra or hostile contents.
extension HostileFile {
    static func bundles(canary: String) -> [HostileFile] {
        func bundle(_ word: String) -> String { "Hostile\(word).app" }
        func info(_ word: String) -> String { "\(bundle(word))/Info.plist" }
        /// Returns a bundle with a valid manifest.
        func program(
            _ word: String,
            _ executable: String,
            _ problem: String?,
            make: @escaping @Sendable (URL) throws -> Void = { _ in }
        ) -> HostileFile {
            let manifest = xml(dictionary("bundle-\(word)", schemes("bundle-\(word)"), executable: executable))
            return HostileFile(name: info(word), problem: problem.map { "CFBundleExecutable: \($0)" }) {
                try Data(manifest).write(to: $0)
                try make($0.deletingLastPathComponent())
            }.opening(["bundle-\(word)": .failed(problem == nil ? .launchFailed : .noHandler)])
        }
        let leadsOut = "is a link that leads out of the handler's directory; give an absolute path"
        let isBundle = "is a link that leads out of the bundle"
        let lost = "does not exist; this is where a bundle's manifest belongs"
        return placeholders(info, directory: "is a directory, not a file", lost: lost, limit: 1 << 20).map { file in
            var file = file
            if file.name == info("device") || file.name == info("random") { file.problem = isBundle }
            return file
        } + [
            node(info("socket"), S_IFSOCK, "is a socket, not a file"),
            link(bundle("looping"), to: bundle("looping"), "is part of a cycle of links"),
            link(bundle("lost"), to: "/nowhere", "leads to /nowhere, which was moved or removed..."),
            text(bundle("file"), "no directory", "is a file, not a directory"),
            link(bundle("null"), to: "/dev/null", "is a device, not a directory"),
            link(info("passwd"), to: "/etc/passwd", isBundle),
            link(info("neighbour"), to: "../com.example.good.plist", isBundle),
            bytes(
                info("good"),
                xml(
                    "<dict><key>CFBundleIdentifier</key><string>com.example.good</string>"
                        + "<key>CFBundleExecutable</key><string>/bin/true</string>\(schemes("good", "bundle-good"))</dict>"
                ),
                "CFBundleIdentifier: is com.example.good, which ..."
            ).opening(["bundle-good": .failed(.noHandler)]),
            text(info("empty"), "", "is neither an XML nor a binary property list..."),
            program("up", "../../../bin/sh", "leads out of the handler's directory with '..'; give an absolute path"),
            program("linked", "run", leadsOut) { bundle in
                try FileManager.default.createSymbolicLink(
                    atPath: bundle.appending(path: "run").path,
                    withDestinationPath: "/bin/sh"
                )
            },
            program("folder", "bin/sh", leadsOut) { bundle in
                try FileManager.default.createSymbolicLink(
                    atPath: bundle.appending(path: "bin").path,
                    withDestinationPath: "/bin"
                )
            },
            program("missing", "run", nil),
            program("plain", "run", nil) { bundle in
                try Data("#!/bin/sh\ntouch \(canary)\n".utf8).write(to: bundle.appending(path: "run"))
            },
            // The router must not guess that a shell should run this file.
            program("guess", "run", nil) { bundle in
                try writeProgram("touch \(canary)\n", to: bundle.appending(path: "run").path)
            },
            program("interpreter", "run", nil) { bundle in
                try writeProgram("#!/nowhere/sh\ntouch \(canary)\n", to: bundle.appending(path: "run").path)
            },
        ]
    }
}
