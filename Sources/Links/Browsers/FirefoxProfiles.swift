internal import ByteCoding
internal import Desktop
internal import FoundationEssentials
internal import Glibc
package import UserFiles

/// Reads the profiles and containers of Firefox and the browsers made from it.
package enum FirefoxProfiles {
    /// The file that lists the profiles.
    static let name = "profiles.ini"

    /// Maximum size of a file in bytes.
    package static let maximumSize = 1 << 20
    /// Maximum number of profiles.
    static let maximumProfiles = 100
    /// Maximum number of containers of a profile.
    static let maximumContainers = 100

    static func read(_ directory: String) throws(FileError) -> ([BrowserProfile], [Diagnostic]) {
        let file = "\(directory)/\(name)"
        let bytes = try contents(ofFile: file, limit: maximumSize, followingLinks: true)
        var (entries, diagnostics) = profiles(in: bytes, file: file)
        for index in entries.indices {
            let folder =
                entries[index].path.hasPrefix("/") ? entries[index].path : "\(directory)/\(entries[index].path)"
            do throws(FileError) {
                let containers = try contents(
                    ofFile: "\(folder)/containers.json",
                    limit: maximumSize,
                    followingLinks: true
                )
                entries[index].profile.containers = Self.containers(in: containers)
                entries[index].profile.opensContainers = access("\(folder)/extensions/\(addOn)", F_OK) == 0
            } catch {
                if error.isAbsence { continue }
                diagnostics.append(Diagnostic(severity: .warning, file: folder, reason: error.reason))
            }
        }
        return (entries.map(\.profile), diagnostics)
    }

    /// The add-on "Open external links in a container", which takes `ext+container:` links.
    private static let addOn = "{f069aec0-43c5-4bbf-b6b4-df95c4326b98}.xpi"

    /// Reads a `profiles.ini`.
    ///
    /// - Returns: the profiles with their directories, as written, and the problems.
    package static func profiles(
        in bytes: [UInt8],
        file: String
    ) -> (profiles: [(profile: BrowserProfile, path: String)], diagnostics: [Diagnostic]) {
        let groups = (0..<maximumProfiles).map { "Profile\($0)" }
        let keys = KeyFile(bytes, groups: Set(groups))
        var problems = Problems(file: file)
        var profiles: [(profile: BrowserProfile, path: String)] = []
        for group in groups where keys.hasGroup(group) {
            do throws(KeyFileValue.Invalid) {
                guard let name = try keys.values(of: "Name", in: group).last?.string(),
                    let path = try keys.values(of: "Path", in: group).last?.string(), !path.isEmpty
                else { throw KeyFileValue.Invalid(reason: "has no Name or no Path") }
                guard LinkTarget.isName(name), !name.hasPrefix("-") else {
                    throw KeyFileValue.Invalid(reason: "has a name that no rule can contain")
                }
                let isUsual = try keys.values(of: "Default", in: group).last?.boolean() ?? false
                profiles.append((BrowserProfile(id: name, name: name, isUsual: isUsual), path))
            } catch {
                problems.add(.warning, "[\(group)]", error.reason)
            }
        }
        return (profiles, problems.diagnostics)
    }

    /// Reads a `containers.json`. A file that is something else has no containers.
    package static func containers(in bytes: [UInt8]) -> [String] {
        guard let file = decoded(ContainersFile.self, fromJSON: bytes) else { return [] }
        let names = file.identities.prefix(maximumContainers).compactMap { identity -> String? in
            guard identity.public != false else { return nil }
            return identity.name ?? (identity.l10nId ?? identity.l10nID).flatMap { translatedNames[$0] }
        }
        return names.filter(LinkTarget.isName)
    }

    private struct ContainersFile: Decodable {
        let identities: [Identity]
    }

    private struct Identity: Decodable {
        let name: String?
        let `public`: Bool?
        let l10nId: String?
        let l10nID: String?
    }

    /// The names of the containers that Firefox has from the beginning, which it translates.
    private static let translatedNames = [
        "user-context-personal": "Personal", "userContextPersonal.label": "Personal",
        "user-context-work": "Work", "userContextWork.label": "Work",
        "user-context-banking": "Banking", "userContextBanking.label": "Banking",
        "user-context-shopping": "Shopping", "userContextShopping.label": "Shopping",
    ]
}

/// Decodes JSON; nil if the bytes are something else.
///
/// A key with very many combining marks would take long to compare, so such a file counts as something else.
func decoded<Value: Decodable>(_ type: Value.Type, fromJSON bytes: [UInt8]) -> Value? {
    guard !String(decoding: bytes, as: UTF8.self).hasTooManyMarks, !hasManyEscapes(bytes) else { return nil }
    do {
        return try JSONDecoder().decode(type, from: Data(bytes))
    } catch {
        return nil
    }
}

/// Returns whether more than a hundred escapes follow each other.
private func hasManyEscapes(_ bytes: [UInt8]) -> Bool {
    var (count, index) = (0, 0)
    while index < bytes.count {
        if bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count {
            count += 1
            if count > 100 { return true }
            index += bytes[index + 1] == UInt8(ascii: "u") ? 6 : 2
        } else {
            count = 0
            index += 1
        }
    }
    return false
}
