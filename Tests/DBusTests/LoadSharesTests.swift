import DBus
import Testing

/// Each account gets at most half of what is left of each resource.
@Suite struct LoadSharesTests {
    private typealias Loads = LoadShares<String>

    private var shares = Loads(limit: CallLoad(calls: 4, bytes: 100, descriptors: 8))

    @Test(
        arguments: [
            (CallLoad(calls: 3, bytes: 0, descriptors: 0), LoadShares<String>.Resource.calls),
            (CallLoad(bytes: 51, descriptors: 0), .bytes), (CallLoad(bytes: 0, descriptors: 5), .descriptors),
        ]
    )
    mutating func eachResourceHasItsLimit(load: CallLoad, resource: LoadShares<String>.Resource) {
        let excess = shares.take(load, for: "a")
        #expect(excess?.resource == resource)
        #expect(excess?.refusal == .holdsItsShare)
        // A refused load leaves nothing behind.
        #expect(shares.isEmpty)
    }

    @Test mutating func loadsAddUpAndAreGivenBack() {
        let load = CallLoad(bytes: 25, descriptors: 2)
        #expect(shares.take(load, for: "a") == nil)
        #expect(shares.take(load, for: "a") == nil)
        #expect(shares.take(load, for: "a")?.resource == .calls)
        #expect(shares.take(load, for: "b") == nil)
        #expect(shares["a"] == CallLoad(calls: 2, bytes: 50, descriptors: 4))
        #expect(shares.total == CallLoad(calls: 3, bytes: 75, descriptors: 6))
        shares.add(load, to: "b")
        #expect(shares.take(load, for: "c")?.refusal == .isFull)
        for account in ["a", "a", "b", "b"] { shares.remove(load, from: account) }
        #expect(shares.isEmpty)
        #expect(shares.total == CallLoad(calls: 0, bytes: 0, descriptors: 0))
    }
}
