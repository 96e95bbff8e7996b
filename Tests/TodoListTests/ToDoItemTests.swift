import FoundationEssentials
import RFC1808
import Testing

@testable import TodoList

/// To-do items.
@Suite struct ToDoItemTests {
    @Test func guideURLHasATaskAndADate() throws {
        let item = try ToDoItem(GenericURL("todolist://www.acme.com?Quarterly%20Report#200806231300"))
        #expect(item.task == "Quarterly Report")
        try #expect(item.due == DueDate("200806231300"))
    }

    @Test(
        arguments: [
            ("todolist:?Caf%C3%A9", "Café"),
            ("todolist:?a+b", "a+b"),
            ("todolist:?100%2525", "100%25"),
            ("TodoList:?milk", "milk"),
            ("todolist://www.acme.com/a/b?milk=2&eggs", "milk=2&eggs"),
        ]
    )
    func taskIsDecodedOnceAsUTF8(url: String, task: String) throws {
        try #expect(ToDoItem(GenericURL(url)).task == task)
    }

    @Test(
        arguments: ["todolist:?milk", "todolist:?milk#today", "todolist:?milk#tod%61y"]
    )
    func todayAndNoDateMeanNow(url: String) throws {
        let before = DueDate.now
        let item = try ToDoItem(GenericURL(url))
        #expect(before <= item.due)
        #expect(item.due <= DueDate.now)
    }

    @Test(
        arguments: [
            ("mailto:?milk", .otherScheme("mailto")),
            ("//www.acme.com?milk", .otherScheme(nil)),
            ("todolist://www.acme.com", .noTask),
            ("todolist://www.acme.com#200806231300", .noTask),
            ("todolist:?", .blankTask),
            ("todolist:?%20%C2%A0", .blankTask),
            ("todolist:?a%E2%80%A8b", .controlCharacter("\u{2028}")),
            ("todolist:?a%E2%80%A9b", .controlCharacter("\u{2029}")),
            ("todolist:?a%E2%80%AEgnp.exe", .controlCharacter("\u{202E}")),
            ("todolist:?milk#", .invalidDate(InvalidDate(text: "", reason: .format("yyyymmddhhmm, twelve digits")))),
            (
                "todolist:?milk#TODAY",
                .invalidDate(InvalidDate(text: "TODAY", reason: .format("yyyymmddhhmm, twelve digits")))
            ),
            (
                "todolist:?milk#202502301300",
                .invalidDate(InvalidDate(text: "202502301300", reason: .day(30, daysInMonth: 28)))
            ),
        ] as [(String, ToDoError)]
    )
    func urlWithoutAToDoIsRefusedWithItsReason(url: String, reason: ToDoError) throws {
        let url = try GenericURL(url)
        #expect(throws: reason) { try ToDoItem(url) }
    }

    @Test(
        arguments: [
            ("todolist:?%FF", .query, .invalidUTF8, 10),
            ("todolist:?%ED%A0%80", .query, .invalidUTF8, 10),
            ("todolist:?a%00b", .query, .controlCharacter, 11),
            ("todolist:?a%0Ab", .query, .controlCharacter, 11),
            ("todolist:?a%C2%85", .query, .controlCharacter, 11),
            ("todolist:?milk#%FF", .fragment, .invalidUTF8, 15),
            ("todolist:?milk#today%00", .fragment, .controlCharacter, 20),
        ] as [(String, GenericURL.Component, GenericURL.PercentDecodingError.Reason, Int)]
    )
    func bytesThatAreNotTextAreRefused(
        url: String,
        component: GenericURL.Component,
        reason: GenericURL.PercentDecodingError.Reason,
        offset: Int
    ) throws {
        let url = try GenericURL(url)
        let error = #expect(throws: ToDoError.self) { try ToDoItem(url) }
        guard case .undecodable(component, let cause)? = error else {
            Issue.record("another error: \(error?.description ?? "none")")
            return
        }
        #expect(cause.reason == reason)
        #expect(cause.offset == offset)
    }

    @Test func taskFromAProgramFollowsTheSameRules() {
        #expect(throws: ToDoError.blankTask) { try ToDoItem(task: "\t", due: .now) }
        #expect(throws: ToDoError.controlCharacter("\u{1B}")) { try ToDoItem(task: "\u{1B}[31mred", due: .now) }
    }

    /// The reply with the task could not be sent.
    @Test func longRowOfCombiningMarksIsRefused() throws {
        let marks = String(repeating: "%CC%81", count: 30)
        #expect(try ToDoItem(GenericURL("todolist:?e\(marks)e\(marks)")).task.unicodeScalars.count == 62)
        let url = try GenericURL("todolist:?e\(marks)%CC%81")
        #expect(throws: ToDoError.tooManyMarks) { try ToDoItem(url) }
        // A stored list may have such a task.
        let due = try DueDate(iso8601: "2008-06-23T13:00:00+02:00")
        let stored = try ToDoItem(task: "e" + String(repeating: "\u{301}", count: 31), due: due)
        #expect(try JSONDecoder().decode(ToDoItem.self, from: JSONEncoder().encode(stored)) == stored)
    }

    @Test func errorDescriptionsAreSentences() {
        #expect(ToDoError.otherScheme("mailto").description == "a to-do has the scheme todolist, not mailto")
        #expect(ToDoError.controlCharacter("\u{1B}").description == "the task holds the control character U+1B")
    }

    @Test func itemsSortByDueDateThenTask() throws {
        let early = try DueDate(iso8601: "2008-06-23T13:00:00+02:00")
        let late = try DueDate(iso8601: "2009-01-01T00:00:00+01:00")
        let items = try [
            ToDoItem(task: "b", due: early), ToDoItem(task: "c", due: early), ToDoItem(task: "a", due: late),
        ]
        #expect(items.reversed().sorted() == items)
    }

    @Test(
        arguments: [
            #"{"task": "milk"}"#,
            #"{"task": "", "due": "2008-06-23T13:00:00+02:00"}"#,
            #"{"task": "a\nb", "due": "2008-06-23T13:00:00+02:00"}"#,
            #"{"task": "milk", "due": "200806231300"}"#,
            #"{"task": "milk", "due": 1214218800}"#,
        ]
    )
    func jsonThatBreaksARuleIsRefused(json: String) {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(ToDoItem.self, from: Data(json.utf8)) }
    }
}
