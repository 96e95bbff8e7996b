import Testing

@testable import DBus
@testable import URLRouter

@Suite struct ListedTextsTests {
    @Test func elementWithoutRoomIsLeftOutAndCounted() {
        var list = ListedTexts<[String]>(bytes: 200)
        list.add(["aa", "bb"], for: "a", ["aa", "bb"])
        list.add([], for: "large", [String(repeating: "x", count: 200)])
        list.add(["cc"], for: "c", ["cc"])
        #expect(list.elements == ["a": ["aa", "bb"], "c": ["cc"]])
        #expect(list.omitted == 1)
    }

    /// The estimate may be too large, but never too small for the message.
    @Test(arguments: [0, 1, 3, 7, 8, 63, 255]) func fullListFitsItsBytes(length: Int) throws {
        var list = ListedTexts<[String]>(bytes: 10_000)
        for number in 0..<1000 {
            let texts = Array(repeating: String(repeating: "x", count: length), count: number % 4)
            list.add(texts, for: "key\(number)", texts)
        }
        #expect(list.omitted > 0)
        // The writer keeps room for the longest header.
        _ = try Message(.signal("com.example.Test1", "Test", from: "/", list.elements, limit: 12_100))
    }
}
