internal import ArgumentParser
internal import Translations

/// A program that runs containers, with the line that shows a share in one of them.
enum ContainerEngine: String, CaseIterable {
    case podman, docker, toolbox, distrobox, devcontainer, nspawn, bubblewrap

    /// Reads the name of a program on the command line.
    ///
    /// - Throws: `ValidationError`.
    init(argument: String) throws {
        guard let engine = Self(rawValue: argument) else {
            let known = Self.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError(translated("write a program that runs containers: \(known)"))
        }
        self = engine
    }

    /// The place of the share in a container. The far side's program looks there.
    private static let place = "/run/openurl"

    /// Returns the line, or the lines, for the share of a container.
    ///
    /// - Parameter directory: the share's directory, whose path needs no quotation marks.
    func lines(_ directory: String, _ name: String) -> [String] {
        let (browser, place) = ("\(Self.place)/xdg-open", Self.place)
        switch self {
        case .podman, .docker:
            return ["\(rawValue) run --volume \(directory):\(place):ro --env BROWSER=\(browser) ..."]
        // These show the user's runtime directory in each container.
        case .toolbox: return ["toolbox run --container \(name) env BROWSER=\(directory)/xdg-open bash"]
        case .distrobox: return ["distrobox enter \(name) -- env BROWSER=\(directory)/xdg-open bash"]
        case .devcontainer:
            return [
                "\"mounts\": [\"source=\(directory),target=\(place),type=bind,readonly\"],",
                "\"containerEnv\": {\"BROWSER\": \"\(browser)\"}",
            ]
        case .nspawn: return ["systemd-nspawn --bind-ro=\(directory):\(place) --setenv=BROWSER=\(browser) ..."]
        case .bubblewrap: return ["bwrap --ro-bind \(directory) \(place) --setenv BROWSER \(browser) ..."]
        }
    }
}
