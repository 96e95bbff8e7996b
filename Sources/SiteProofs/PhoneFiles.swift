internal import UserFiles
internal import WebLinks

/// The paths in the files that sites have for phones.
///
/// They only count if the site's own file refers to them, and only their paths do: identities on a phone mean nothing here.
/// Conditions on queries and fragments are not supported. A path with such a condition is left out, and an exclusion with
/// one excludes the path whatever the query is, so that an app never gets more than on a phone.
enum PhoneFiles {
    static let applePath = "/.well-known/apple-app-site-association"
    static let androidPath = "/.well-known/assetlinks.json"

    private static let permission = "delegate_permission/common.handle_all_urls"

    /// Returns the rules for an app identifier in `apple-app-site-association`.
    static func appleRules(_ bytes: [UInt8], for id: String) throws(SiteFile.Refusal) -> [PathRules.Rule] {
        let links = try document(bytes)["applinks"]
        guard let details = links?["details"]?.array else {
            throw SiteFile.Refusal(reason: "has no array 'applinks.details'")
        }
        let named = details.filter { entry in
            entry["appID"]?.string == id || entry["appIDs"]?.strings?.contains(id) == true
        }
        guard !named.isEmpty else { throw SiteFile.Refusal(reason: "does not name \(printable(id))") }
        let isEncoded = links?["defaults"]?["percentEncoded"]?.boolean ?? true
        var rules: [PathRules.Rule] = []
        for entry in named {
            if let components = entry["components"]?.array {
                rules += try self.rules(components, isEncoded: isEncoded)
            } else if let paths = entry["paths"]?.strings {
                rules += try self.rules(paths)
            } else {
                throw SiteFile.Refusal(reason: "has neither 'components' nor 'paths' for \(printable(id))")
            }
        }
        return rules
    }

    /// Returns the rules for a package in `assetlinks.json`. Without any, the package has every path.
    static func androidRules(_ bytes: [UInt8], for package: String) throws(SiteFile.Refusal) -> [PathRules.Rule] {
        guard let statements = try document(bytes).array else { throw SiteFile.Refusal(reason: "is not an array") }
        let named = statements.filter { statement in
            statement["relation"]?.strings?.contains(permission) == true
                && statement["target"]?["namespace"]?.string == "android_app"
                && statement["target"]?["package_name"]?.string == package
        }
        guard !named.isEmpty else { throw SiteFile.Refusal(reason: "does not name \(printable(package))") }
        var rules: [PathRules.Rule] = []
        for statement in named {
            let extensions = statement["relation_extensions"]?[permission]
            guard let value = extensions?["dynamic_app_link_components"] else {
                rules.append(PathRules.Rule(.all))
                continue
            }
            guard let components = value.array else {
                throw SiteFile.Refusal(reason: "has 'dynamic_app_link_components' that are not an array")
            }
            rules += try self.rules(components, isEncoded: true)
        }
        return rules
    }

    private static func document(_ bytes: [UInt8]) throws(SiteFile.Refusal) -> JSONValue {
        do throws(JSONValue.ParseError) {
            return try JSONValue(bytes: bytes)
        } catch {
            throw SiteFile.Refusal(reason: error.reason)
        }
    }

    private static func rules(_ components: [JSONValue], isEncoded: Bool) throws(SiteFile.Refusal) -> [PathRules.Rule] {
        let known: Set<String> = ["/", "?", "#", "exclude", "comment", "caseSensitive", "percentEncoded"]
        var rules: [PathRules.Rule] = []
        for component in components {
            guard case .object(let members) = component else {
                throw SiteFile.Refusal(reason: "has a component that is not an object")
            }
            // Whatever is not a clear “no” takes paths away.
            let isExcluded = members["exclude"].map { $0.boolean != false } ?? false
            let isEncoded = members["percentEncoded"]?.boolean ?? isEncoded
            let hasCondition = ["?", "#"].contains { members[$0].map { $0.string != "*" } ?? false }
            let isUnderstood =
                isEncoded && members.keys.allSatisfy(known.contains)
                && members["exclude"].map { $0.boolean != nil } ?? true
                && members["/"].map { $0.string != nil } ?? true
            if !isExcluded, hasCondition || !isUnderstood { continue }
            guard isUnderstood else { throw SiteFile.Refusal(reason: "has an exclusion that is not supported here") }
            try append(members["/"]?.string ?? "*", isExcluded: isExcluded, to: &rules)
        }
        return rules
    }

    private static func rules(_ paths: [String]) throws(SiteFile.Refusal) -> [PathRules.Rule] {
        var rules: [PathRules.Rule] = []
        for path in paths {
            let isExcluded = path.hasPrefix("NOT ")
            try append(isExcluded ? String(path.dropFirst(4)) : path, isExcluded: isExcluded, to: &rules)
        }
        return rules
    }

    /// Adds a pattern. One that cannot be used gives no path away, and an exclusion that cannot be used takes all.
    private static func append(
        _ text: String,
        isExcluded: Bool,
        to rules: inout [PathRules.Rule]
    ) throws(SiteFile.Refusal) {
        do throws(PathPattern.ParseError) {
            // Variables stand for lists of texts.
            guard !text.contains("$(") else { throw .forbiddenCharacter("$") }
            rules.append(PathRules.Rule(try PathPattern(text), isExcluded: isExcluded))
        } catch {
            guard isExcluded else { return }
            throw SiteFile.Refusal(reason: "has the exclusion '\(printable(text))', which \(error)")
        }
    }
}
