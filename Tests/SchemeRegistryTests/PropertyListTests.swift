import FoundationEssentials
import TestSupport
import Testing

@testable import SchemeRegistry

struct PropertyListTests {
    @Test(arguments: [PropertyListDecoder.PropertyListFormat.xml, .binary])
    func everyTypeIsRead(_ format: PropertyListDecoder.PropertyListFormat) throws {
        let list: PropertyListValue = [
            "string": "é", "true": true, "false": false, "one": 1, "real": 1.5, "date": .date, "data": .data,
            "array": ["a", ["key": "value"], []], "dictionary": [:],
        ]
        #expect(try PropertyListValue(bytes: list.encoded(format)) == list)
    }

    @Test func numbersAndBooleansAreDistinct() throws {
        let list: PropertyListValue = [0, 1, true, false]
        #expect(try PropertyListValue(bytes: list.encoded(.binary)) == list)
    }

    @Test func byteOrderMarkBeforeXMLIsAccepted() throws {
        #expect(try PropertyListValue(bytes: [0xEF, 0xBB, 0xBF] + xml("<string>a</string>")) == "a")
    }

    /// The decoder compares and hashes keys in a time that grows with the square of the marks in a row.
    @Test func listThatIsSlowToDecodeIsRefused() throws {
        let limit = PropertyListLimits.marks
        let marks = String(repeating: "\u{301}\u{316}", count: limit / 2)
        let references = String(repeating: "&#769;&#x316;", count: limit / 2)
        let time = threadTime {
            for text in [marks + "\u{301}", references + "\u{301}", references + "&#769;"] {
                for list in [
                    "<dict><key>a\(text)</key><true/></dict>", "<array><string><![CDATA[\(text)]]></string></array>",
                ] {
                    #expect(throws: PropertyListError.tooManyMarks) { try PropertyListValue(bytes: xml(list)) }
                }
            }
            for list: PropertyListValue in [["a\(marks)\u{301}": true], [.string(marks), "\u{1D165}"]] {
                #expect(throws: PropertyListError.tooManyMarks) { try PropertyListValue(bytes: list.encoded(.binary)) }
            }
            let read = try? PropertyListValue(bytes: xml("<dict><key>a\(marks)</key><string>x</string></dict>"))
            #expect(read == ["a\(marks)": "x"])
        }
        #expect(time < .seconds(5))
        // A text that is kept and sent has a smaller limit.
        for format in [PropertyListDecoder.PropertyListFormat.xml, .binary] {
            let list: PropertyListValue = [.string("a" + String(repeating: "\u{301}", count: 257)), "b"]
            #expect(try PropertyListValue(bytes: list.encoded(format)) == [.unreadable, "b"])
        }
    }

    @Test(
        arguments: [
            ("", .unknownFormat("empty")), ("\n ", .unknownFormat("empty")), ("{ a = b; }", .unknownFormat(nil)),
            (#" {"a": 1}"#, .unknownFormat("JSON")), ("bplist", .unknownFormat(nil)),
            ("<string>a\0</string>", .containsNUL),
        ] as [(String, PropertyListError)]
    )
    func otherFormatsAreRefused(_ text: String, _ error: PropertyListError) {
        #expect(throws: error) { try PropertyListValue(bytes: Array(text.utf8)) }
    }

    @Test func xmlThatIsNotUTF8IsRefused() {
        #expect(throws: PropertyListError.notUTF8) { try PropertyListValue(bytes: xml("<string>") + [0xFF]) }
        let utf16 = Array("<string>a</string>".utf16).flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        #expect(throws: PropertyListError.unknownFormat("text in UTF-16")) {
            try PropertyListValue(bytes: [0xFF, 0xFE] + utf16)
        }
    }

    @Test(arguments: [
        "<string>a", "<dict><key>a</key></dict>", "<dict><string>a</string></dict>", "<foo/>", "<integer>x</integer",
    ])
    func brokenXMLIsRefused(_ body: String) {
        #expect {
            try PropertyListValue(bytes: xml(body))
        } throws: { error in
            guard case .malformed = error as? PropertyListError else { return false }
            return true
        }
    }

    @Test func entitiesAreNotExpanded() {
        let names = "abcdefghij".map(String.init)
        let entities = zip(names, names.dropFirst()).map { inner, outer in
            "<!ENTITY \(outer) \"" + String(repeating: "&\(inner);", count: 10) + "\">"
        }
        let text = "<!DOCTYPE plist [<!ENTITY a \"ha\">\(entities.joined())]><plist><string>&j;</string></plist>"
        #expect(throws: PropertyListError.self) { try PropertyListValue(bytes: Array(text.utf8)) }
        let external = "<!DOCTYPE plist [<!ENTITY a SYSTEM \"file:///etc/passwd\">]><plist><string>&a;</string></plist>"
        #expect(throws: PropertyListError.self) { try PropertyListValue(bytes: Array(external.utf8)) }
    }

    @Test(arguments: ["array", "dict", "plist"])
    func deepXMLIsRefused(_ tag: String) {
        let depth = 10_000
        let key = tag == "dict" ? "<key>a</key>" : ""
        let open = String(repeating: "<\(tag)>\(key)", count: depth)
        let close = String(repeating: "</\(tag)>", count: depth)
        #expect(throws: PropertyListError.tooManyContainers) { try PropertyListValue(bytes: xml(open + close)) }
        // Only some readers recognise this comment, so it must not hide anything.
        #expect(throws: PropertyListError.tooManyContainers) {
            try PropertyListValue(bytes: xml("<!-->" + open + "<!-- \(close) -->" + close))
        }
    }

    @Test func xmlWithinTheLimitsIsRead() throws {
        let depth = PropertyListLimits.containers
        let nested = String(repeating: "<array>", count: depth) + String(repeating: "</array>", count: depth)
        #expect(throws: Never.self) { try PropertyListValue(bytes: xml(nested)) }
        #expect(throws: PropertyListError.tooManyContainers) {
            try PropertyListValue(bytes: xml("<array>\(nested)</array>"))
        }
        #expect(throws: PropertyListError.tooLarge) {
            try PropertyListValue(bytes: xml(String(repeating: "<true/>", count: PropertyListLimits.values)))
        }
    }
}

struct BinaryPropertyListTests {
    @Test func handMadeFileIsRead() throws {
        #expect(try PropertyListValue(bytes: binary([[0xA1, 1], [0x51, 0x61]])) == ["a"])
    }

    @Test(
        arguments: [
            [[0xA1, 0]], [[0xA1, 1], [0xA1, 0]], [[0xD1, 1, 0], [0x51, 0x61]],
            (0..<60).map { [0xA2, $0 + 1, $0 + 1] } + [[0x51, 0x61]],
        ] as [[[UInt8]]]
    )
    func cyclesAndExplosionsAreRefused(_ objects: [[UInt8]]) {
        #expect(throws: PropertyListError.tooManyContainers) { try PropertyListValue(bytes: binary(objects)) }
    }

    @Test func stringThatIsSharedTooOftenIsRefused() {
        // The decoder expands 128 references to 64 KiB into 8 MiB.
        let string: [UInt8] = [0x5F, 0x12, 0, 1, 0, 0] + [UInt8](repeating: 0x61, count: 65_536)
        let array: [UInt8] = [0xAF, 0x10, 128] + [UInt8](repeating: 1, count: 128)
        #expect(throws: PropertyListError.tooLarge) { try PropertyListValue(bytes: binary([array, string])) }
    }

    @Test func tooManyValuesAreRefused() {
        let array: [UInt8] = [0xAF, 0x11, 2, 0] + [UInt8](repeating: 1, count: 512)
        let inner: [UInt8] = [0xAF, 0x11, 2, 0] + [UInt8](repeating: 2, count: 512)
        #expect(throws: PropertyListError.tooLarge) { try PropertyListValue(bytes: binary([array, inner, [0x09]])) }
    }

    @Test(
        arguments: [
            ([[0xA1, 9]], "it refers to an object that it does not have"),
            ([[0xA1, 1], [0x20, 0]], "it has an object of unknown type"),
            ([[0x70]], "it has an object of unknown type"),
            ([[0xAF, 0x51, 0x61]], "a count is not an integer"), ([[0x5F]], "a count is not an integer"),
            ([[0x5F, 0x10, 5]], "an object extends past the end of the objects"),
            ([[0x5F, 0x13, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x61]], "a number is too large"),
            (
                [[0xAF, 0x13, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0]],
                "an object extends past the end of the objects"
            ),
            ([[0xDF, 0x10, 200, 0]], "an object extends past the end of the objects"),
            ([[0x13, 0]], "an object extends past the end of the objects"),
        ] as [([[UInt8]], String)]
    )
    func brokenObjectsAreRefused(_ objects: [[UInt8]], _ reason: String) {
        #expect(throws: PropertyListError.corrupt(reason)) { try PropertyListValue(bytes: binary(objects)) }
    }

    /// The decoder would take one of the two values at random. The keys are one object, the same text in ASCII and in
    /// UTF-16, and two forms of a letter that Swift compares as equal.
    @Test(
        arguments: [
            [[0xD2, 1, 1, 2, 3], [0x51, 0x61], [0x08], [0x09]],
            [[0xD2, 1, 2, 3, 4], [0x51, 0x61], [0x61, 0x00, 0x61], [0x08], [0x09]],
            [[0xA1, 1], [0xD2, 2, 3, 4, 5], [0x61, 0x00, 0xE9], [0x62, 0x00, 0x65, 0x03, 0x01], [0x08], [0x09]],
        ] as [[[UInt8]]]
    )
    func dictionaryWithAKeyTwiceIsRefused(_ objects: [[UInt8]]) throws {
        let error = #expect(throws: PropertyListError.self) { try PropertyListValue(bytes: binary(objects)) }
        #expect(try #require(error).description.contains("a dictionary has a key twice"))
    }

    @Test func dictionariesWithTheSameKeyAreRead() throws {
        let objects: [[UInt8]] = [[0xA2, 1, 2], [0xD1, 3, 4], [0xD1, 3, 5], [0x51, 0x61], [0x08], [0x09]]
        #expect(try PropertyListValue(bytes: binary(objects)) == [["a": false], ["a": true]])
    }

    @Test(
        arguments: [
            (offsetSize: 0, referenceSize: 1, count: 1, table: 10, "its trailer gives integers of impossible size"),
            (offsetSize: 1, referenceSize: 9, count: 1, table: 10, "its trailer gives integers of impossible size"),
            (offsetSize: 1, referenceSize: 1, count: 0, table: 10, "its table of offsets is not within the file"),
            (offsetSize: 1, referenceSize: 1, count: 40, table: 10, "its table of offsets is not within the file"),
            (offsetSize: 1, referenceSize: 1, count: 1, table: 8, "its table of offsets is not within the file"),
            (offsetSize: 1, referenceSize: 1, count: 1, table: 11, "its table of offsets is not within the file"),
            (offsetSize: 1, referenceSize: 1, count: UInt64.max, table: 10, "a number is too large"),
            (
                offsetSize: 8, referenceSize: 1, count: UInt64(Int.max), table: 10,
                "its table of offsets is not within the file"
            ),
        ] as [(UInt8, UInt8, UInt64, UInt64, String)]
    )
    func brokenTrailerIsRefused(
        _ offsetSize: UInt8,
        _ referenceSize: UInt8,
        _ count: UInt64,
        _ table: UInt64,
        _ reason: String
    ) {
        var bytes: [UInt8] = Array("bplist00".utf8) + [0x51, 0x61, 8] + [0, 0, 0, 0, 0, 0, offsetSize, referenceSize]
        for number in [count, 0, table] { bytes += bigEndian(number) }
        #expect(throws: PropertyListError.corrupt(reason)) { try PropertyListValue(bytes: bytes) }
    }

    @Test func offsetOutsideTheFileIsRefused() {
        for offset: UInt8 in [0, 7, 10, 255] {
            let bytes: [UInt8] = Array("bplist00".utf8) + [0x51, 0x61, offset] + [0, 0, 0, 0, 0, 0, 1, 1]
            let all = bytes + bigEndian(1) + bigEndian(0) + bigEndian(10)
            #expect(throws: PropertyListError.self) { try PropertyListValue(bytes: all) }
        }
    }

    @Test func truncatedFilesAreRefused() throws {
        let whole = try manifest("com.acme.todolist").encoded(.binary)
        for length in 0..<whole.count {
            #expect(throws: PropertyListError.self) { try PropertyListValue(bytes: Array(whole[..<length])) }
        }
    }

    @Test func changedBytesAreReadOrRefused() throws {
        let whole = try manifest("com.acme.todolist", hosts: ["acme.com"]).encoded(.binary)
        for index in whole.indices {
            for value: UInt8 in [0x00, 0x0F, 0x5F, 0x6F, 0x80, 0xA1, 0xDF, 0xFF] {
                var bytes = whole
                bytes[index] = value
                do {
                    _ = try PropertyListValue(bytes: bytes)
                } catch {
                    #expect(!"\(error)".isEmpty)
                }
            }
        }
    }

    /// The objects are a lone surrogate, a byte outside ASCII, a UID and a set.
    @Test(arguments: [[0x61, 0xD8, 0x00], [0x51, 0xFF], [0x80, 5], [0xC0]] as [[UInt8]])
    func unreadableValuesAreMarked(_ object: [UInt8]) throws {
        #expect(try PropertyListValue(bytes: binary([[0xA1, 1], object])) == [.unreadable])
    }
}

/// Returns an XML property list of one value.
func xml(_ body: String) -> [UInt8] {
    Array("<?xml version=\"1.0\" encoding=\"UTF-8\"?><plist version=\"1.0\">\(body)</plist>".utf8)
}

/// Encodes the given objects as a binary property list. The first object is the top object, and references have one
/// byte.
private func binary(_ objects: [[UInt8]]) -> [UInt8] {
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt64] = []
    for object in objects {
        offsets.append(UInt64(bytes.count))
        bytes += object
    }
    let table = UInt64(bytes.count)
    for offset in offsets { bytes += bigEndian(offset) }
    bytes += [0, 0, 0, 0, 0, 0, 8, 1]
    for number in [UInt64(objects.count), 0, table] { bytes += bigEndian(number) }
    return bytes
}

private func bigEndian(_ value: UInt64) -> [UInt8] {
    stride(from: 56, through: 0, by: -8).map { UInt8(value >> UInt64($0) & 0xFF) }
}
