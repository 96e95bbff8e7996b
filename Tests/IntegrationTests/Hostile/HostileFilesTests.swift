import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Testing

/// Hundreds of broken, half-written and hostile files at once, with a real router.
@Suite(.timeLimit(.minutes(10))) struct HostileFilesTests {
    @Test func hostileFilesAreReportedOrIgnoredAndTheRestIsServed() async throws {
        var files: [String: HostileFile] = [:]
        let router = try await RouterProcess(["com.example.good": []]) { directory in
            let canary = directory.appending(path: "canary").path
            func fill(_ path: String, _ hostile: [HostileFile]) throws {
                for file in hostile {
                    let url = directory.appending(path: "\(path)/\(file.name)")
                    let parent = url.deletingLastPathComponent()
                    try FileManager.default.createDirectory(at: parent, withIntermediateDirectories: true)
                    try file.make(url)
                    #expect(files.updateValue(file, forKey: url.path) == nil, "\(url.path) appears twice")
                }
            }
            try fill("XDG_DATA_HOME/openurl/handlers", HostileFile.manifests(canary: canary))
            try fill("XDG_DATA_HOME/openurl/handlers", HostileFile.propertyLists)
            try fill("XDG_DATA_HOME/openurl/handlers", HostileFile.bundles(canary: canary))
            try fill("XDG_DATA_HOME/applications", HostileFile.entries(canary: canary))
            try fill("XDG_DATA_HOME/applications", HostileFile.localAssociations)
            try fill("XDG_DATA_DIRS/applications", HostileFile.systemAssociations)
            try fill("XDG_CONFIG_HOME", [HostileFile.userAssociations])
            try Self.exec("exec", in: directory)
        }
        defer { router.stop() }
        #expect(files.count > 400)
        let memory = try residentMemory(of: router.pid)
        #expect(memory < 128 << 20)

        let found = try await router.reload()
        for (path, file) in files {
            #expect(file.isProblem(found[path]), "\(path): \(found[path] ?? "nothing")")
        }
        #expect(found.keys.filter { files[$0] == nil } == [])

        // Valid files are served, and URLs of all other claims have a definite outcome.
        #expect(try await router.open("good:x").handler == "com.example.good")
        #expect(try await router.open("exec:x").handler == "exec.desktop")
        for (scheme, expected) in files.values.flatMap(\.outcomes) {
            let outcome = try await outcome(of: "\(scheme):$(touch%20canary);touch%20canary", router)
            #expect(outcome == expected, "\(scheme)")
        }
        let last = try await router.open("good:y")
        #expect(last.handler == "com.example.good" && last.way != .launched, "\(last)")
        #expect(try await router.open("exec:y").handler == "exec.desktop")
        let everything = FileManager.default.enumerator(atPath: router.bus.directory.path)
        #expect(everything?.contains { "\($0)".hasSuffix("canary") } == false)
        #expect(try residentMemory(of: router.pid) < memory + (64 << 20))
    }

    /// Tests other contents and other objects in place of the cache that the router keeps for the desktop.
    @Test(arguments: HostileFile.caches)
    func invalidCacheDoesNotBlockURLs(_ cache: HostileFile) async throws {
        let router = try await RouterProcess(["com.example.good": []]) { directory in
            try Self.exec("exec", in: directory)
            try cache.make(directory.appending(path: "XDG_DATA_HOME/applications/\(cache.name)"))
        }
        defer { router.stop() }
        try await router.waitUntilPublished("com.example.good")
        #expect(try await router.open("good:x").handler == "com.example.good")
        #expect(try await router.open("exec:x").handler == "exec.desktop")
        let log = try String(contentsOf: router.bus.directory.appending(path: "openurld.log"), encoding: .utf8)
        let file = router.bus.directory.appending(path: "XDG_DATA_HOME/applications/\(cache.name)")
        if let problem = cache.problem {
            #expect(log.contains("\(file.path): \(problem)"), "\(log)")
        } else {
            #expect(
                try String(contentsOf: file, encoding: .utf8).contains(
                    "com.example.good.desktop;"
                )
            )
        }
    }

    private static func exec(_ scheme: String, in directory: URL) throws {
        let applications = directory.appending(path: "XDG_DATA_HOME/applications")
        try FileManager.default.createDirectory(at: applications, withIntermediateDirectories: true)
        let text = "[Desktop Entry]\nType=Application\nName=x\nExec=true %u\nMimeType=x-scheme-handler/\(scheme);\n"
        let file = applications.appending(path: "\(scheme).desktop")
        try text.write(to: file, atomically: true, encoding: .utf8)
    }

    private func outcome(of url: String, _ router: RouterProcess) async throws -> HostileFile.Outcome {
        do throws(CallError) {
            _ = try await router.open(url)
            return .opened
        } catch {
            guard case .remote(let remote) = error else { throw error }
            return .failed(try #require(OpenURLError(remote), "\(remote)").code)
        }
    }

    /// Returns the resident memory in bytes, from `/proc/PID/status`.
    private func residentMemory(of pid: Int32) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(Int(line.split(separator: " ").dropLast().last ?? "")) << 10
    }
}
