internal import CGTK
internal import RFC1808

/// The router's question: with which program a URL opens.
struct Question {
    /// A program that opens the URL, or a profile of a browser.
    struct Candidate: Hashable {
        /// The ID of its desktop entry.
        var id: String
        /// The name that people see.
        var name: String
        /// The name of an icon in the desktop's theme, or the path of its file; empty if there is none.
        var icon: String
        /// The name of the browser's profile; empty if the candidate has none.
        var profileName: String
        var offersPrivateWindow: Bool

        /// The names of the program and of the profile, without characters that mislead.
        var shownName: String {
            profileName.isEmpty
                ? Chooser.shownName(name) : "\(Chooser.shownName(name)) – \(Chooser.shownName(profileName))"
        }
    }

    /// The maximum size of a question, in bytes: the longest URL, and the names of many candidates.
    static let maximumSize = 512 << 10
    static let maximumCandidates = 100

    var url: GenericURL
    /// The host that the person may give a rule; empty if the URL has none.
    var host: String
    /// The name of the program that sends the URL; empty if it is unknown.
    var source: String
    /// Whether the sender is known well enough for a rule about it.
    var hasSourceID: Bool
    /// The activation token that came with the URL; empty if there is none.
    var token: String
    /// The person's locale; empty for that of the environment.
    var locale: String
    /// The candidates, in order. There is at least one.
    var candidates: [Candidate]

    /// Reads a question in the form of a key file.
    init(_ bytes: [UInt8]) throws(InvalidQuestion) {
        guard bytes.count <= Self.maximumSize else {
            throw InvalidQuestion(reason: "has more than \(Self.maximumSize) bytes")
        }
        let file = try KeyFile(bytes)
        let text = try file.required("URL", in: "Link")
        do throws(GenericURL.ParseError) {
            url = try GenericURL(text)
        } catch {
            throw InvalidQuestion(reason: "has an invalid URL: \(error)")
        }
        host = try file.string("Host", in: "Link")
        guard host.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) else {
            throw InvalidQuestion(reason: "has an invalid Host in [Link]")
        }
        source = try file.string("Source", in: "Link")
        hasSourceID = try !file.string("SourceID", in: "Link").isEmpty
        token = try file.string("Token", in: "Link")
        locale = try file.string("Locale", in: "Link")
        guard locale.utf8.allSatisfy(Self.isLocaleByte) else {
            throw InvalidQuestion(reason: "has an invalid Locale in [Link]")
        }
        candidates = []
        while file.hasGroup("Candidate \(candidates.count + 1)") {
            guard candidates.count < Self.maximumCandidates else {
                throw InvalidQuestion(reason: "has more than \(Self.maximumCandidates) candidates")
            }
            candidates.append(try Candidate(file, group: "Candidate \(candidates.count + 1)"))
        }
        guard !candidates.isEmpty else { throw InvalidQuestion(reason: "has no candidate") }
    }

    private static func isLocaleByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "-"),
            UInt8(ascii: "@"):
            true
        default: false
        }
    }

    /// Returns the choice of a candidate; nil if there is none with this number, or if it offers no private window and the
    /// person wants one.
    func choice(of number: Int, remember: Choice.Remember, privately: Bool) -> Choice? {
        guard candidates.indices.contains(number - 1), !privately || candidates[number - 1].offersPrivateWindow else {
            return nil
        }
        return Choice(candidate: number, remember: remember, isPrivate: privately)
    }
}

extension Question.Candidate {
    fileprivate init(_ file: borrowing KeyFile, group: String) throws(InvalidQuestion) {
        id = try file.required("ID", in: group)
        name = try file.required("Name", in: group)
        icon = try file.string("Icon", in: group)
        profileName = try file.string("ProfileName", in: group)
        offersPrivateWindow = try file.boolean("Private", in: group)
    }
}
