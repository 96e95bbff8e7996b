internal import Translations

/// The places where removable media and AppImages are mounted.
enum RemovableMedia {
    /// Returns whether a path is in one of the places.
    static func contain(_ path: String) -> Bool {
        ["/media/", "/run/media/", "/mnt/", "/tmp/.mount_"].contains { path.hasPrefix($0) }
    }

    /// Returns a fact, with a hint if the file that is missing may be on a medium that is not mounted.
    static func withQuestion(_ fact: String, aboutAbsenceOf path: String) -> String {
        contain(path) ? translated("\(fact) (is its medium mounted?)") : fact
    }
}
