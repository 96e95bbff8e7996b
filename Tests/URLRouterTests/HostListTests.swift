import OpenURLBus
import Testing

@testable import URLRouter

/// The file with the other hosts.
@Suite struct HostListTests {
    private func host(_ name: String) throws -> HostName { try #require(HostName(rawValue: name)) }

    @Test func linesGiveTheAddresses() throws {
        let list = HostList(text: "# mine\nlaptop ssh:alice@laptop.example # at home\n\nKiosk\tbridge:\n@all bridge:\n")
        #expect(list.problems.isEmpty)
        #expect(list[try host("laptop")] == .ssh("alice@laptop.example"))
        #expect(list[try host("kiosk")] == .bridge)
        #expect(list[try host("@all")] == .bridge)
        #expect(list[try host("other")] == nil)
    }

    @Test func starStandsForAllOtherHostsOfTheBridge() throws {
        let list = HostList(text: "* bridge:\nlaptop ssh:laptop\n")
        #expect(list[try host("laptop")] == .ssh("laptop"))
        #expect(list[try host("other")] == .bridge)
    }

    /// A line must not give ssh an option, nor reach a group over ssh.
    @Test(arguments: [
        "laptop", "laptop ssh:", "laptop ssh:-oProxyCommand=x", "laptop http:x", "la/ptop ssh:x", "* ssh:x",
        "@all ssh:x",
        "laptop ssh:a b",
    ])
    func lineIsAProblem(_ line: String) {
        let list = HostList(text: "\(line)\nother ssh:other\n")
        #expect(list.problems.count == 1)
        #expect(Array(list.addresses.keys) == ["other"])
    }

    @Test func changesKeepTheOtherLines() {
        let text = "# mine\nlaptop ssh:a # old\nother ssh:o"
        let changed = HostList.changing(text, "laptop", to: .ssh("b"))
        #expect(changed == "# mine\nother ssh:o\nlaptop ssh:b\n")
        #expect(HostList.changing(changed, "other", to: nil) == "# mine\nlaptop ssh:b\n")
        #expect(HostList.changing("", "kiosk", to: .bridge) == "kiosk bridge:\n")
    }

    /// An editor may end the lines as Windows does.
    @Test func linesMayEndWithACarriageReturn() throws {
        let text = "# mine\r\nlaptop ssh:a\r\nother ssh:o\r\n"
        let list = HostList(text: text)
        #expect(list.problems.isEmpty)
        #expect(list.addresses == ["laptop": .ssh("a"), "other": .ssh("o")])
        #expect(HostList.changing(text, "laptop", to: .ssh("b")) == "# mine\nother ssh:o\nlaptop ssh:b\n")
    }
}
