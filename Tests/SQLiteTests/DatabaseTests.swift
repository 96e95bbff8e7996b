import FoundationEssentials
import SQLite
import Testing

/// The path of a database that is removed at the end of its test.
private final class TemporaryFile {
    let path = FileManager.default.temporaryDirectory.appending(path: "sqlite-\(UUID().uuidString)").path

    deinit {
        for suffix in ["", "-journal"] where FileManager.default.fileExists(atPath: path + suffix) {
            do {
                try FileManager.default.removeItem(atPath: path + suffix)
            } catch {
                Issue.record(error)
            }
        }
    }
}

@Suite struct DatabaseTests {
    private let file = TemporaryFile()

    private func failure(_ body: () throws -> Void) throws -> SQLiteError {
        do {
            try body()
        } catch let error as SQLiteError {
            return error
        }
        Issue.record("nothing was thrown")
        return try #require(nil)
    }

    @Test func roundTripKeepsValues() throws {
        let texts = ["", "plain", "ünïcödé 🙂", String(repeating: "x", count: 100_000)]
        let blobs: [[UInt8]] = [[], [0], Array(0...255), [UInt8](repeating: 7, count: 100_000)]
        let numbers = [0, .min, .max, -1] as [Int64]
        do {
            let database = try Database(path: file.path, .created)
            try database.execute("CREATE TABLE t (text, blob, number); PRAGMA user_version = 42")
            let insert = try database.prepare("INSERT INTO t VALUES (?, ?, ?)")
            for index in texts.indices {
                try insert.bind(1, texts[index])
                try insert.bind(2, blobs[index])
                try insert.bind(3, numbers[index])
                #expect(try !insert.step())
            }
        }
        let database = try Database(path: file.path, .existing)
        #expect(try database.pragma("user_version") == 42)
        let rows = try database.prepare("SELECT text, blob, number FROM t ORDER BY rowid")
        for _ in 0..<2 {
            for index in texts.indices {
                #expect(try rows.step())
                #expect(rows.text(0) == texts[index])
                #expect(rows.withBytes(1) { Array($0) } == blobs[index])
                #expect(rows.integer(2) == numbers[index])
            }
            #expect(try !rows.step())
        }
    }

    @Test(arguments: ["a\0b", "\0", "a\0", "\0a"]) func textMayContainNULs(_ text: String) throws {
        let database = try Database(path: file.path, .created)
        try database.execute("CREATE TABLE t (text)")
        let insert = try database.prepare("INSERT INTO t VALUES (?)")
        try insert.bind(1, text)
        #expect(try !insert.step())
        let found = try database.prepare("SELECT text FROM t WHERE text = ?")
        try found.bind(1, text)
        #expect(try found.step())
        #expect(found.text(0) == text)
    }

    @Test func transactionIsAtomic() throws {
        let database = try Database(path: file.path, .created)
        try database.execute("CREATE TABLE t (x UNIQUE)")
        let error = try failure {
            try database.transaction { () throws(SQLiteError) in
                try database.execute("INSERT INTO t VALUES (1)")
                try database.execute("INSERT INTO t VALUES (1)")
            }
        }
        #expect(error.message == "UNIQUE constraint failed: t.x")
        #expect(!error.isDamage && !error.isInvalidStatement)
        let count = try database.prepare("SELECT count(*) FROM t")
        #expect(try count.step() && count.integer(0) == 0)
        #expect(try !count.step())
        try database.transaction { () throws(SQLiteError) in try database.execute("INSERT INTO t VALUES (1)") }
        #expect(try count.step() && count.integer(0) == 1)
    }

    @Test func errorsDescribeTheProblem() throws {
        #expect(try failure { _ = try Database(path: file.path, .existing) }.message == "unable to open database file")
        let database = try Database(path: file.path, .created)
        let syntax = try failure { _ = try database.prepare("SELECT FROM") }
        #expect(syntax.isInvalidStatement)
        #expect(syntax.description == #"near "FROM": syntax error"#)
        _ = try failure { _ = try database.prepare("-- nothing") }
        let statement = try database.prepare("SELECT ?")
        #expect(try failure { try statement.bind(2, "x") }.message == "column index out of range")
    }

    @Test func fileThatIsNotADatabaseIsDamaged() throws {
        try Data(repeating: UInt8(ascii: "x"), count: 5000).write(to: URL(filePath: file.path))
        let database = try Database(path: file.path, .existing)
        #expect(try failure { _ = try database.pragma("user_version") }.isDamage)
    }

    @Test func lockedFileFailsAtOnce() throws {
        let one = try Database(path: file.path, .created)
        try one.execute("CREATE TABLE t (x); BEGIN EXCLUSIVE")
        let other = try Database(path: file.path, .existing)
        #expect(try failure { _ = try other.prepare("SELECT x FROM t") }.message == "database is locked")
        try one.execute("COMMIT")
        _ = try other.prepare("SELECT x FROM t")
    }
}
