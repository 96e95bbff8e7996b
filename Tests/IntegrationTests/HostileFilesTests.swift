import DBus
import Foundation
import OpenURLBus
import PrivateBus
import Testing

/// More than two hundred files that are broken, half-written or meant to do harm, all at once before a real router.
@Suite(.timeLimit(.minutes(2))) struct HostileFilesTests {
    @Test func eachHasItsDiagnosticOrIsIgnoredAndTheRestIsServed() async throws {
        var problems: [String: String?] = [:]
        let router = try await Router(["com.example.good": []]) { directory in
            let canary = directory.appending(path: "canary").path
            func fill(_ path: String, _ files: [HostileFile]) throws {
                let directory = directory.appending(path: path)
                try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
                for file in files {
                    let url = directory.appending(path: file.name)
                    try file.make(url)
                    problems[url.path] = .some(file.problem)
                }
            }
            for number in 1...3 {
                try fill("XDG_DATA_HOME/openurl/handlers", HostileFile.manifests(number))
                try fill("XDG_DATA_HOME/applications", HostileFile.entries(number, canary: canary))
            }
            try fill("XDG_CONFIG_HOME", [HostileFile.associations("mimeapps.list")])
        }
        defer { router.stop() }
        #expect(problems.count > 200)
        let memory = try residentMemory(of: router.pid)

        let found = try await router.connection.call(RegistryInterface.reload, on: RouterService.object, Empty())
        for (file, problem) in problems {
            #expect(found[file] == problem, "\(file)")
        }
        #expect(found.keys.filter { problems[$0] == nil } == [])

        // What is registered is served, and what the hostile ones claim has a definite end.
        #expect(try await router.open("good:x").handler == "com.example.good")
        let schemes = try await router.connection.call(RegistryInterface.listSchemes, on: RouterService.object, Empty())
        let hostile = schemes.keys.filter { $0.hasPrefix("hostile-") }
        #expect(hostile.count > 20)
        for scheme in hostile {
            switch await outcome(of: "\(scheme):$(touch%20canary)", router) {
            case .success(let result): #expect(result.handler.hasPrefix("hostile-"))
            case .failure(.remote(let error)): #expect(OpenURLError(error) != nil, "\(error)")
            case .failure(let error): Issue.record("\(scheme): \(error)")
            }
        }
        #expect(try await router.open("good:y").path == .active)
        let canary = router.bus.directory.appending(path: "canary").path
        #expect(!FileManager.default.fileExists(atPath: canary))
        #expect(try residentMemory(of: router.pid) < memory + (64 << 20))
    }

    private func outcome(of url: String, _ router: Router) async -> Result<OpenResult, CallError> {
        do throws(CallError) {
            return .success(try await router.open(url))
        } catch {
            return .failure(error)
        }
    }

    /// In bytes, as `/proc/PID/status` has it.
    private func residentMemory(of pid: Int32) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        return try #require(Int(line.split(separator: " ").dropLast().last ?? "")) << 10
    }
}
