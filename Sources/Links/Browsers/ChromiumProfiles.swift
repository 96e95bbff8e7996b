internal import UserFiles

/// Reads the profiles of Chromium and the browsers made from it.
package enum ChromiumProfiles {
    /// The file that lists the profiles.
    static let name = "Local State"

    /// Maximum size of the file in bytes.
    package static let maximumSize = 8 << 20
    /// Maximum number of profiles.
    static let maximumProfiles = 100

    static func read(_ directory: String) throws(FileError) -> ([BrowserProfile], [Diagnostic]) {
        let file = "\(directory)/\(name)"
        let bytes = try contents(ofFile: file, limit: maximumSize, followingLinks: true)
        guard let profiles = profiles(in: bytes) else {
            return ([], [Diagnostic(severity: .warning, file: file, reason: "lists no profiles")])
        }
        return (profiles, [])
    }

    /// Reads a `Local State`; nil if the bytes are something else.
    package static func profiles(in bytes: [UInt8]) -> [BrowserProfile]? {
        guard let state = decoded(LocalState.self, fromJSON: bytes) else { return nil }
        // The order of the file is lost, so use that of the directories: Default, Profile 1, Profile 2.
        let profiles = state.profile.info_cache.sorted { $0.key < $1.key }.prefix(maximumProfiles)
        return profiles.compactMap { directory, info in
            guard LinkTarget.isName(directory), !directory.contains("/"), directory != "..", directory != "." else {
                return nil
            }
            let name = info.name.flatMap { LinkTarget.isName($0) ? $0 : nil } ?? directory
            return BrowserProfile(id: directory, name: name, isUsual: directory == state.profile.last_used)
        }
    }

    private struct LocalState: Decodable {
        let profile: Profiles
    }

    private struct Profiles: Decodable {
        let info_cache: [String: Info]
        let last_used: String?
    }

    private struct Info: Decodable {
        let name: String?
    }
}
