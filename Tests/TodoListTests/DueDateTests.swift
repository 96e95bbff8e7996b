import Glibc
import Testing

@testable import TodoList

/// Due dates.
@Suite(.timeLimit(.minutes(10))) struct DueDateTests {
    @Test(
        arguments: [
            ("200806231300", "2008-06-23 13:00"),
            ("200802291200", "2008-02-29 12:00"),
            ("200002291200", "2000-02-29 12:00"),
            ("202412312359", "2024-12-31 23:59"),
            ("000101011200", "0001-01-01 12:00"),
            ("999912311200", "9999-12-31 12:00"),
        ]
    )
    func twelveDigitsAreATimeOfTheLocalClock(text: String, shown: String) throws {
        try #expect(DueDate(text).description == shown)
    }

    @Test(
        arguments: [
            "", "today", "20080623", "2008062313000", "20080623130a", "+00806231300", " 20080623130", "２００８",
            "20080623１",
        ]
    )
    func textOfAnotherFormIsRefused(text: String) {
        #expect(throws: InvalidDate(text: text, reason: .format("yyyymmddhhmm, twelve digits"))) { try DueDate(text) }
    }

    @Test(
        arguments: [
            ("000001011200", .year),
            ("202500011200", .month(0)),
            ("202513011200", .month(13)),
            ("202501001200", .day(0, daysInMonth: 31)),
            ("202501321200", .day(32, daysInMonth: 31)),
            ("202504311200", .day(31, daysInMonth: 30)),
            ("202502301200", .day(30, daysInMonth: 28)),
            ("202402301200", .day(30, daysInMonth: 29)),
            ("190002291200", .day(29, daysInMonth: 28)),
            ("202501012400", .hour(24)),
            ("202501011260", .minute(60)),
        ] as [(String, InvalidDate.Reason)]
    )
    func impossibleDateIsRefusedWithItsReason(text: String, reason: InvalidDate.Reason) {
        #expect(throws: InvalidDate(text: text, reason: reason)) { try DueDate(text) }
    }

    @Test func reasonIsASentence() {
        let error = #expect(throws: InvalidDate.self) { try DueDate("202502301200") }
        #expect(error?.description == "“202502301200” is not a date: the month has 28 days, not a day 30")
    }

    // The time zone belongs to the whole process, so each of these tests runs in a child process. The tests spell the
    // zones out and need no time zone database.

    @Test func timeSkippedByDaylightSavingIsRefused() async {
        await #expect(processExitsWith: .success) {
            setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1)
            try #expect(DueDate("200803300159").iso8601 == "2008-03-30T01:59:00+01:00")
            try #expect(DueDate("200803300300").iso8601 == "2008-03-30T03:00:00+02:00")
            for text in ["200803300200", "200803300230", "200803300259"] {
                #expect(throws: InvalidDate(text: text, reason: .skippedByClock)) { try DueDate(text) }
            }
        }
    }

    @Test func repeatedTimeMeansItsFirstInstant() async {
        await #expect(processExitsWith: .success) {
            setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1)
            try #expect(DueDate("200810260230").iso8601 == "2008-10-26T02:30:00+02:00")
            try #expect(DueDate("200810260300").iso8601 == "2008-10-26T03:00:00+01:00")
            // The result does not depend on the date of an earlier conversion.
            try #expect(DueDate("200812240230").iso8601 == "2008-12-24T02:30:00+01:00")
            try #expect(DueDate("200810260230").iso8601 == "2008-10-26T02:30:00+02:00")
        }
    }

    @Test func unusualOffsetsKeepTheInstant() async {
        await #expect(processExitsWith: .success) {
            setenv("TZ", "NST3:30", 1)
            let west = try DueDate("200806231300")
            #expect(west.iso8601 == "2008-06-23T13:00:00-03:30")
            try #expect(DueDate(iso8601: west.iso8601) == west)

            setenv("TZ", "LMT-0:53:28", 1)
            let early = try DueDate("185001010000")
            #expect(early.iso8601 == "1849-12-31T23:59:32+00:53")
            #expect(early.description == "1850-01-01 00:00")
            try #expect(DueDate(iso8601: early.iso8601) == early)
        }
    }

    @Test func dateIsShownInTheReadersTimeZone() async {
        await #expect(processExitsWith: .success) {
            setenv("TZ", "UTC0", 1)
            let date = try DueDate(iso8601: "2008-06-23T13:00:00+02:00")
            #expect(date.description == "2008-06-23 11:00")
            #expect(date.iso8601 == "2008-06-23T13:00:00+02:00")
        }
    }

    @Test(
        arguments: [
            ("1970-01-01T00:00:00+00:00", 0),
            ("1970-01-01T00:00:59-00:00", 59),
            ("2008-06-23T13:00:00+02:00", 1_214_218_800),
            ("2008-06-23T11:00:00+00:00", 1_214_218_800),
            ("2008-06-23T07:30:00-03:30", 1_214_218_800),
        ]
    )
    func iso8601DenotesAnInstant(text: String, seconds: Int) throws {
        try #expect(DueDate(iso8601: text).secondsSince1970 == seconds)
    }

    @Test(
        arguments: [
            "", "2008-06-23", "2008-06-23T13:00:00", "2008-06-23T13:00:00Z", "2008-06-23 13:00:00+02:00",
            "2008-06-23T13:00:60+02:00", "2008-06-23T13:00:00+0200",
            "2008-02-30T13:00:00+02:00",
            "2008-06-23T24:00:00+02:00", "2008-06-23T13:00:00~02:00", "2OO8-06-23T13:00:00+02:00",
        ]
    )
    func otherISO8601FormsAreRefused(text: String) {
        #expect(throws: InvalidDate.self) { try DueDate(iso8601: text) }
    }

    @Test func earlierInstantComesFirstForEveryOffset() throws {
        let texts = ["2008-06-23T23:00:00+12:00", "2008-06-23T13:00:00+01:00", "2008-06-23T10:00:00-05:00"]
        let dates = try texts.map { try DueDate(iso8601: $0) }
        #expect(dates.reversed().sorted() == dates)
    }
}
