import OpenURLBus
import Testing

@testable import URLOpener

/// The line that shows the progress.
@Suite struct ProgressBarTests {
    private func line(_ fraction: Double, _ message: String = "", width: Int = 80) throws -> String {
        ProgressBar.line(try #require(ProgressReport(fraction, message)), width: width)
    }

    @Test func barGrowsWithTheFraction() throws {
        #expect(try line(0) == "[--------------------]   0 %")
        #expect(try line(0.42, "reading") == "[########------------]  42 %  reading")
        #expect(try line(0.999) == "[###################-]  99 %")
        #expect(try line(1) == "[####################] 100 %")
    }

    @Test func lineLeavesTheLastColumnFree() throws {
        #expect(try line(0.5, String(repeating: "x", count: 200)).count == 79)
        #expect(try line(0.5, String(repeating: "待", count: 200)).columns == 78)
        #expect(try line(0.5, "reading", width: 10) == "[########")
        #expect(try line(0.5, "reading", width: 0) == "")
    }

    @Test func controlsOfAHandlerAreEscaped() throws {
        #expect(try line(0, "a\u{1B}[2Jb\nc") == "[--------------------]   0 %  a\\u{1B}[2Jb\\u{A}c")
    }

    @Test func barReplacesItsLineAndLeavesNothing() throws {
        let run = try captured { invocation in
            let bar = ProgressBar(on: invocation.errors)
            bar.remove()
            bar.show(try #require(ProgressReport(0, "a")))
            bar.show(try #require(ProgressReport(1, "b")))
            bar.remove()
            bar.remove()
            return 0
        }
        let clear = "\u{1B}[K"
        #expect(
            run.errors == "\r[--------------------]   0 %  a\(clear)\r[####################] 100 %  b\(clear)\r\(clear)"
        )
    }
}
