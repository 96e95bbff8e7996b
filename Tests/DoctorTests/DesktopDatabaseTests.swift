import Foundation
import TestSupport
import Testing

@testable import Doctor

/// The caches that update-desktop-database makes. The doctor names that program as the way to a good cache, so it finds no
/// fault in one.
@Suite struct DesktopDatabaseTests {
    /// The lines of an entry that follow `[Desktop Entry]`.
    struct Lines: Sendable, CustomTestStringConvertible {
        let testDescription: String
        init(_ lines: String) { testDescription = lines }
    }

    private static let program = "/usr/bin/update-desktop-database"

    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: program), "update-desktop-database is not installed"),
        arguments: [
            Lines("MimeType=x-scheme-handler/app;"),
            Lines("MimeType=x-scheme-handler/app"),
            Lines("MimeType=x-scheme-handler/app;x-scheme-handler/bpp;text/plain;"),
            Lines("MimeType=x-scheme-handler/app;x-scheme-handler/app;"),
            Lines("MimeType=text/plain;"),
            Lines("MimeType="),
            Lines("MimeType=;"),
            Lines("MimeType=;;x-scheme-handler/app;;"),
            Lines("MimeType=x-scheme-handler/app;\nNoDisplay=true"),
            Lines("MimeType=x-scheme-handler/app;\nHidden=true"),
            Lines("MimeType=x-scheme-handler/app;\nHidden=TRUE"),
            Lines("MimeType=x-scheme-handler/app ;x-scheme-handler/bpp;"),
            Lines("MimeType=x-scheme-handler/app;\nIcon=C:\\foo"),
            Lines("MimeType=x-scheme-handler/app;\nTryExec=/nonexistent"),
            Lines("MimeType=x-scheme-handler/app;\nOnlyShowIn=KDE;"),
            Lines("MimeType=x-scheme-handler/app;\n[Desktop Action new]\nName=New\nExec=true"),
            Lines("# a comment\n\nMimeType=x-scheme-handler/app;"),
            Lines("MimeType = x-scheme-handler/app;"),
            Lines("MimeType=x-scheme-handler/a+b.c-d;"),
            Lines("MimeType=x-scheme-handler/zzz;x-scheme-handler/aaa;"),
        ]
    )
    func cacheOfTheToolIsNotStale(_ lines: Lines) throws {
        let session = try ExaminedSession()
        for name in ["app", "folder/app"] {
            try session.root.write(
                "[Desktop Entry]\nType=Application\nName=App\nExec=true %u\n\(lines.testDescription)\n",
                to: "\(ExaminedSession.applications)/\(name).desktop"
            )
        }
        let result = RunningTool.run([Self.program, session.path(ExaminedSession.applications)], environment: [:])
        #expect(result != .failed && result != .hung)
        #expect(try !session.findings().contains { $0.check == "stale-cache" })
    }
}
