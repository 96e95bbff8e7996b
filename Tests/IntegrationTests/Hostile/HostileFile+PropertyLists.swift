import OpenURLBus

/// Property lists that are damaged, half-written or built to exhaust their reader.
extension HostileFile {
    static let propertyLists = xmlLists + halfXMLLists + binaryLists + halfBinaryLists

    private static let nests = "nests or contains more than 256 arrays and dictionaries"
    private static let isNone = "is neither an XML nor a binary property list..."
    private static let notOne = "is not a property list: ..."

    private static let xmlLists: [HostileFile] = {
        func list(_ word: String, _ body: String, _ problem: String) -> HostileFile {
            bytes(file("xml-\(word)"), xml(body), problem)
        }
        func raw(_ word: String, _ contents: String, _ problem: String) -> HostileFile {
            text(file("xml-\(word)"), contents, problem)
        }
        func entities(_ word: String, _ declarations: String) -> HostileFile {
            let body = "<dict><key>CFBundleIdentifier</key><string>&b;</string></dict>"
            return raw(word, "<!DOCTYPE plist [\(declarations)]><plist>\(body)</plist>", notOne)
        }
        func identifier(_ value: String) -> String { "<dict><key>CFBundleIdentifier</key>\(value)</dict>" }
        let bomb = (0..<10).map { "<!ENTITY \("abcdefghijk".dropFirst($0).first ?? "a")\($0) \"&x;&x;&x;\">" }.joined()
        let anything = dictionary("xml-anything", "")
        return [
            raw("empty", "", isNone),
            raw("blank", " \n\t", isNone),
            raw("json", "{\"CFBundleIdentifier\": \"com.hostile.json\"}", isNone),
            raw("openstep", "{ CFBundleIdentifier = \"com.hostile.openstep\"; }", isNone),
            bytes(file("xml-noise"), noise, isNone),
            bytes(file("xml-utf16"), [0xFF, 0xFE] + Array("<plist/>".utf8).flatMap { [$0, 0] }, isNone),
            bytes(file("xml-nul"), xml("<dict><key>a\u{0}</key><true/></dict>"), "contains a NUL byte"),
            bytes(file("xml-latin"), xml("<string>") + [0xE9] + xml(""), "is not UTF-8"),
            bytes(file("xml-overlong"), xml("<string>") + [0xC0, 0xAF] + xml(""), "is not UTF-8"),
            bytes(file("xml-surrogate"), xml("<string>") + [0xED, 0xA0, 0x80] + xml(""), "is not UTF-8"),
            entities("bomb", "<!ENTITY x \"xxxxxxxx\">\(bomb)<!ENTITY b \"&a0;\">"),
            entities("external", "<!ENTITY b SYSTEM \"file:///etc/passwd\">"),
            entities("parameter", "<!ENTITY % x SYSTEM \"file:///dev/zero\"> %x;"),
            list("undefined", "<dict><key>&b;</key><true/></dict>", notOne),
            list("reference", identifier("<string>&#0;</string>"), "CFBundleIdentifier: contains U+0000"),
            list("deep", String(repeating: "<array>", count: 5000), nests),
            list("dictionaries", String(repeating: "<dict><key>a</key>", count: 5000), nests),
            list("wide", "<array>" + String(repeating: "<array/>", count: 300) + "</array>", nests),
            list(
                "many",
                "<array>" + String(repeating: "<true/>", count: 70_000) + "</array>",
                "contains more than 65536 values or 1048576 bytes of them"
            ),
            list("angles", String(repeating: "<", count: 900_000), notOne),
            list("comment", "<!-- " + String(repeating: "-", count: 900_000), notOne),
            list("array", "<array/>", "is an array, not a dictionary"),
            list("string", "<string>com.hostile.x</string>", "is a string, not a dictionary"),
            list("nothing", "", notOne),
            list("valueless", "<dict><key>a</key></dict>", notOne),
            list("keyless", "<dict><string>a</string></dict>", notOne),
            list("crossed", "<dict><key>a</string></dict>", notOne),
            list("unknown", "<dict><key>a</key><shell>touch</shell></dict>", notOne),
            list(
                "integer",
                identifier("<integer>99999999999999999999999</integer>"),
                "CFBundleIdentifier: is a value that cannot be read, not a string"
            ),
            list(
                "letters",
                identifier("<integer>x</integer>"),
                "CFBundleIdentifier: is a value that cannot be read, not a string"
            ),
            list("data", identifier("<data>*</data>"), "CFBundleIdentifier: is data, not a string"),
            list("two", anything + anything, notOne),
        ]
    }()

    /// The starts of a manifest that is still being written.
    private static let halfXMLLists: [HostileFile] = {
        let whole = xml(dictionary("xml-half", schemes("half-xml")))
        return (1...20).map { number in
            bytes(file("xml-half\(number)"), Array(whole.prefix(whole.count * number / 21)), notOne)
                .opening(["half-xml": .failed(.noHandler)])
        }
    }()

    // MARK: Binary

    private static func damaged(_ what: String) -> String { "is a damaged binary property list: \(what)" }

    /// Encodes a binary property list of objects that refer to each other by one-byte numbers.
    private static func binary(
        _ objects: [[UInt8]],
        top: UInt8 = 0,
        sizes: (offset: UInt8, reference: UInt8) = (4, 1),
        count: Int? = nil,
        table: Int? = nil
    ) -> [UInt8] {
        func number(_ value: Int, _ size: Int) -> [UInt8] {
            (0..<size).reversed().map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
        }
        var bytes = Array("bplist00".utf8)
        var offsets: [Int] = []
        for object in objects {
            offsets.append(bytes.count)
            bytes += object
        }
        let start = bytes.count
        bytes += offsets.flatMap { number($0, 4) }
        bytes += [0, 0, 0, 0, 0, 0, sizes.offset, sizes.reference]
        return bytes + number(count ?? objects.count, 8) + number(Int(top), 8) + number(table ?? start, 8)
    }

    private static func string(_ text: String) -> [UInt8] {
        text.utf8.count < 15
            ? [0x50 | UInt8(text.utf8.count)] + Array(text.utf8)
            : [0x5F, 0x10, UInt8(text.utf8.count)] + Array(text.utf8)
    }

    private static let binaryLists: [HostileFile] = {
        func list(_ word: String, _ contents: [UInt8], _ problem: String) -> HostileFile {
            bytes(file("binary-\(word)"), contents, problem)
        }
        /// Returns a list whose bundle identifier is this object.
        func identified(_ word: String, _ object: [UInt8], _ problem: String) -> HostileFile {
            list(word, binary([[0xD1, 1, 2], string("CFBundleIdentifier"), object]), problem)
        }
        let table = damaged("its table of offsets is not within the file")
        let sizes = damaged("its trailer gives integers of impossible size")
        let end = damaged("an object extends past the end of the objects")
        let large = damaged("a number is too large")
        let unknown = damaged("it has an object of unknown type")
        let foreign = damaged("it refers to an object that it does not have")
        return [
            list("magic", Array("bplist00".utf8), damaged("it is too short")),
            list("itself", binary([[0xA1, 0]]), nests),
            list("value", binary([[0xD1, 1, 0], string("a")]), nests),
            list("key", binary([[0xD1, 0, 1], string("a")]), nests),
            list("pair", binary([[0xA1, 1], [0xA1, 0]]), nests),
            list("doubling", binary((1...60).map { [0xA2, $0, $0] } + [[0xA0]]), nests),
            list(
                "deep",
                binary((1...250).map { [0xA1, $0] } + [[0xA3, 251, 251, 251], [0xA4, 252, 252, 252, 252], [0xA0]]),
                nests
            ),
            list(
                "shared",
                binary([[0xAF, 0x12, 0, 1, 0x11, 0x70] + [UInt8](repeating: 1, count: 70_000), string("a")]),
                "contains more than 65536 values or 1048576 bytes of them"
            ),
            list(
                "payload",
                binary([
                    [0xAF, 0x11, 0, 200] + [UInt8](repeating: 1, count: 200),
                    [0x5F, 0x11, 0x20, 0] + [UInt8](repeating: 0x61, count: 0x2000),
                ]),
                "contains more than 65536 values or 1048576 bytes of them"
            ),
            list("elements", binary([[0xAF, 0x13, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]]), end),
            list("sign", binary([[0xAF, 0x13, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]]), large),
            list("pairs", binary([[0xDF, 0x11, 0x7F, 0xFF]]), end),
            list("text", binary([[0x5F, 0x12, 0xFF, 0xFF, 0xFF, 0xFF]]), end),
            list("wide", binary([[0x6F, 0x11, 0, 0x80]]), end),
            list("data", binary([[0x4F, 0x10, 0xFF]]), end),
            list("count", binary([[0xAF, 0x50]]), damaged("a count is not an integer")),
            list("unfinished", binary([[0xAF]]), damaged("a count is not an integer")),
            list("fill", binary([[0x0F]]), unknown),
            list("reserved", binary([[0x70]]), unknown),
            list("ordered", binary([[0xB0]]), unknown),
            list("last", binary([[0xFF]]), unknown),
            list("foreign", binary([[0xA1, 9]]), foreign),
            list("top", binary([[0xA0]], top: 7), foreign),
            list("none", binary([], count: 0), damaged("it is too short")),
            list("objects", binary([[0xA0]], count: 1 << 40), table),
            list("negative", binary([[0xA0]], count: -1), large),
            list("table", binary([[0xA0]], table: 1 << 40), table),
            list("start", binary([[0xA0]], table: 0), table),
            list("offsets", binary([[0xA0]], sizes: (0, 1)), sizes),
            list("references", binary([[0xA0]], sizes: (4, 9)), sizes),
            list("array", binary([[0xA0]]), "is an array, not a dictionary"),
            identified("number", [0x10, 7], "CFBundleIdentifier: is an integer, not a string"),
            identified(
                "date",
                [0x33] + [UInt8](repeating: 0xFF, count: 8),
                "CFBundleIdentifier: is a date, not a string"
            ),
            identified("bytes", [0x42, 1, 2], "CFBundleIdentifier: is data, not a string"),
            identified("true", [0x09], "CFBundleIdentifier: is a boolean, not a string"),
            identified("nul", string("com.a\u{0}"), "CFBundleIdentifier: contains U+0000"),
        ]
    }()

    private static let halfBinaryLists: [HostileFile] = {
        let texts = ["CFBundleIdentifier", id("binary-half"), "CFBundleExecutable", "/bin/true"].map(string)
        let whole = binary([[0xD2, 1, 3, 2, 4]] + texts)
        return (1...20).map { number in
            let count = 8 + (whole.count - 8) * number / 21
            return bytes(file("binary-half\(number)"), Array(whole.prefix(count)), damaged("..."))
        }
    }()
}
