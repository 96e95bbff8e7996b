import DBus
import OpenURLBus
import Testing

@testable import URLOpener

/// The command's own description of a result, which has to match the contract's.
@Suite struct ResultNoteTests {
    @Test func isTheMethodOfTheContract() {
        #expect(ResultNote.method.interface == RouterInterface.openURL.interface)
        #expect(ResultNote.method.name == RouterInterface.openURL.name)
        #expect(ResultNote.signature == OpenResult.signature)
    }

    @Test func noteOnlyTellsOfAnEarlierProgram() throws {
        var result = OpenResult(handler: "com.acme.todolist", way: .active, reply: ["a": "b"], trace: [])
        var note: ResultNote = try MessageArchive.body(from: MessageArchive.bytes(of: result, limit: 1 << 20))
        #expect(note.earlierProgram == nil)
        result.runsEarlierProgram = true
        note = try MessageArchive.body(from: MessageArchive.bytes(of: result, limit: 1 << 20))
        #expect(note.earlierProgram == "com.acme.todolist")
    }
}
