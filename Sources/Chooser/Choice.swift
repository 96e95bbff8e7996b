/// The person's choice.
struct Choice: Hashable {
    /// The links that the choice is also for.
    enum Remember: String {
        /// Only this URL.
        case no
        /// All links to this host.
        case site
        /// All links from this program.
        case sender
    }

    /// The number of the chosen candidate, from 1.
    var candidate: Int
    var remember: Remember
    var isPrivate: Bool
    /// The activation token for the chosen program; empty if there is none.
    var token = ""

    /// The choice in the form of a key file, for the router.
    var keyFile: String {
        var file = KeyFile()
        file.set("Candidate", in: "Choice", to: "\(candidate)")
        file.set("Remember", in: "Choice", to: remember.rawValue)
        file.set("Private", in: "Choice", to: "\(isPrivate)")
        file.set("Token", in: "Choice", to: token)
        return file.text
    }
}
