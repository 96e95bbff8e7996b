import Testing

@testable import OpenURLBus

@Suite struct LaneAddressTests {
    private func path(_ bus: String, _ directory: String = "/run/user/1000") -> String? {
        LaneAddress.path(for: bus, in: directory)
    }

    @Test func pathIsInTheDirectoryOfTheUser() throws {
        let text = try #require(path("unix:path=/run/user/1000/bus"))
        #expect(text.hasPrefix("/run/user/1000/openurl/lane-"))
        // Programs of other versions look for the same path.
        #expect(text == "/run/user/1000/openurl/lane-f25a149c290c8e0c")
    }

    @Test func busHasOnePathWithAndWithoutItsIdentifier() {
        let plain = path("unix:path=/run/user/1000/bus")
        #expect(path("unix:path=/run/user/1000/bus,guid=0123456789abcdef0123456789abcdef") == plain)
        #expect(path("unix:guid=0123456789abcdef0123456789abcdef,path=/run/user/1000/bus") == plain)
    }

    @Test func otherBusesHaveOtherPaths() {
        let buses = [
            "unix:path=/tmp/a", "unix:path=/tmp/b", "unix:abstract=/tmp/a", "unix:path=/tmp/a;unix:path=/tmp/b",
            "unix:path=/tmp/a,",
        ]
        #expect(Set(buses.dropLast().compactMap { path($0) }).count == 4)
        #expect(path(buses[4]) == path(buses[0]))
    }

    @Test func onlySocketsOfThisMachineHaveAPath() {
        for bus in ["tcp:host=localhost,port=1", "unixexec:path=ssh", "autolaunch:", "", "unix"] {
            #expect(path(bus) == nil)
        }
    }

    @Test func directoryIsAbsoluteAndFitsIntoASocket() throws {
        #expect(path("unix:path=/b", "run") == nil)
        #expect(path("unix:path=/b", "") == nil)
        // 107 bytes are the most that the kernel takes.
        let rest = "/openurl/lane-0123456789abcdef".utf8.count
        #expect(try #require(path("unix:path=/b", "/" + String(repeating: "d", count: 106 - rest))).utf8.count == 107)
        #expect(path("unix:path=/b", "/" + String(repeating: "d", count: 107 - rest)) == nil)
    }

    @Test func addressEscapesThePath() {
        #expect(LaneAddress.address(ofPath: "/run/a b,c;d") == "unix:path=/run/a%20b%2cc%3bd")
    }
}
