import Foundation

/// Association files, which name the application of each type, in each place where the router looks for them.
extension HostileFile {
    /// The user's associations. They lead out of every directory, to themselves and to missing files.
    static let userAssociations = text(
        "mimeapps.list",
        """
        [Default Applications]
        x-scheme-handler/good=../../etc/passwd;/etc/passwd;hostile-cycle.desktop;hostile;
        x-scheme-handler/exec=\u{0};
        x-scheme-handler/entry-quote=hostile-quote.desktop;
        x-scheme-handler/a/b=good.desktop;
        good=good.desktop
        x-scheme-handler/twice=good.desktop;
        x-scheme-handler/twice=good.desktop;

        [Added Associations
        x-scheme-handler/good=
        =x
        """,
        """
        line 10: opens a group header but does not close it
        line 12: has no key before '='
        [Default Applications] x-scheme-handler/good: contains '../../etc/passwd', which is not a desktop file ID
        [Default Applications] x-scheme-handler/good: contains '/etc/passwd', which is not a desktop file ID
        [Default Applications] x-scheme-handler/good: contains 'hostile', which is not a desktop file ID
        [Default Applications] x-scheme-handler/exec: contains U+0000
        [Default Applications] x-scheme-handler/a/b: is not a MIME type
        [Default Applications] good: is not a MIME type
        [Default Applications] x-scheme-handler/twice: appears twice
        [Default Applications] x-scheme-handler/good: appears twice
        """
    )

    /// Association files beside the user's entries.
    static let localAssociations = [
        link("mimeapps.list", to: "mimeapps.list", "is part of a cycle of links"),
        bytes(
            "defaults.list",
            noise,
            "..."
        ),
    ]

    /// Association files beside the system's entries.
    static let systemAssociations = [
        sparse("mimeapps.list", "is larger than 16777216 bytes"),
        link("defaults.list", to: "/dev/zero", "is a device, not a file"),
    ]

    /// Files and directories in place of the cache of MIME types.
    static let caches = [
        link("mimeinfo.cache", to: "mimeinfo.cache", "is part of a cycle of links"),
        link("mimeinfo.cache", to: "/dev/zero", "is a device, not a file"),
        sparse("mimeinfo.cache", "is larger than 67108864 bytes"),
        directory("mimeinfo.cache", "is a directory, not a file"),
        bytes("mimeinfo.cache", noise, nil), bytes("mimeinfo.cache", [], nil),
        text("mimeinfo.cache", "[MIME Cache", nil),
        text("mimeinfo.cache", "[MIME Cache]\nx-scheme-handler/good=../x.desktop;\u{0};\n=\n[[", nil),
    ]
}
