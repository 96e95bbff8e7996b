import Testing

@testable import URLRouter

/// The ways back to the senders of a handler's URLs.
@Suite struct ReturnPathsTests {
    @Test func eachWayIsTakenOnce() {
        var paths = ReturnPaths()
        paths.add("1", from: "com.example.first")
        #expect(paths.take("2") == nil)
        #expect(paths.take("1") == "com.example.first")
        #expect(paths.take("1") == nil)
        #expect(paths.take("") == nil)
    }

    @Test func emptyNameIsTheLatestRequest() {
        var paths = ReturnPaths()
        paths.add("1", from: "com.example.first")
        paths.add("2", from: "com.example.second")
        #expect(paths.take("") == "com.example.second")
        #expect(paths.take("") == "com.example.first")
        paths.add("3", from: "com.example.first")
        // The person has opened a URL since.
        paths.add("4", from: nil)
        #expect(paths.take("") == nil)
    }

    @Test func laterWaysGoWithAnEarlierOne() {
        var paths = ReturnPaths()
        for number in 1...3 { paths.add("\(number)", from: "com.example.app\(number)") }
        #expect(paths.take("2") == "com.example.app2")
        #expect(paths.take("3") == nil)
        #expect(paths.take("1") == "com.example.app1")
    }

    @Test func oldestWaysAreForgotten() {
        var paths = ReturnPaths()
        for number in 0...ReturnPaths.capacity { paths.add("\(number)", from: "com.example.app") }
        #expect(paths.take("0") == nil)
        #expect(paths.take("1") == "com.example.app")
        // A repeated name stands for the later request.
        paths.add("a", from: "com.example.first")
        paths.add("a", from: "com.example.second")
        #expect(paths.take("a") == "com.example.second")
        #expect(paths.take("a") == nil)
    }
}
