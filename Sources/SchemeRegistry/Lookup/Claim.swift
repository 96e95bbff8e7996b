/// A claim on a URL or on a file.
struct Claim {
    let claimant: Claimant
    /// The pattern by which the handler claims the URL; `nil` for any host.
    let host: HostPattern?
    /// The rank of a handler that claims the file; `nil` for an application, and for a claim on a URL.
    var rank: HandlerRank?
    /// The position, among the file's properties, of the claimed one; -1 for a claim on the URL.
    var property = -1
    var isUserDefault = false
    /// Whether the claimant is running and has claimed the scheme for as long as it runs.
    var isWhileRunning = false
    /// The place that the user or the system gave to a handler; the largest number if it only claims the scheme, and
    /// `nil` if it has no place in the desktop's order.
    var position: Int?

    /// Returns the rule that puts the first claim before the second.
    static func decidingRule(_ first: Claim, _ second: Claim) -> WinningRule {
        if first.claimant.isFixed != second.claimant.isFixed { return .fixedScheme }
        if first.isWhileRunning != second.isWhileRunning { return .claim }
        if first.property != second.property { return first.property < 0 ? .fileScheme : .fileType }
        if first.isUserDefault != second.isUserDefault { return .userDefault }
        guard case .handler(let left) = first.claimant, case .handler(let right) = second.claimant,
            (first.position == nil) == (second.position == nil)
        else { return .association }
        if first.host != second.host { return .host }
        if first.rank != second.rank { return .rank }
        if first.position != second.position { return .association }
        // If nothing else distinguishes two handlers in a registry, their ids do.
        return Handler.decidingRule(left, right) ?? .identifier
    }
}
