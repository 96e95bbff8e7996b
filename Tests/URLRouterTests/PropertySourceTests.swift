import DBus
import SchemeRegistry
import Testing

@testable import URLRouter

/// What the properties of services tell handlers.
@Suite struct PropertySourceTests {
    private func values(_ kind: ObservedChange, _ properties: [String: Value]) throws -> Value? {
        let source = try #require(PropertySource.all.first { $0.kinds == [kind] })
        let values = source.values(properties)
        #expect(Set(values.keys).isSubset(of: source.kinds))
        #expect(source.properties.isSuperset(of: properties.keys))
        return values[kind]
    }

    @Test func eachKindHasOneSource() {
        let kinds = PropertySource.all.flatMap(\.kinds)
        // The clock is the kernel's, and the color scheme is the desktop's.
        #expect(Set(kinds) == Set(ObservedChange.allCases).subtracting([.clock, .colorScheme]))
        #expect(Set(kinds).count == kinds.count)
        #expect(Set(PropertySource.all.map(\.path)).count == PropertySource.all.count)
    }

    @Test func unknownAndWrongPropertiesTellNothing() throws {
        for source in PropertySource.all {
            #expect(source.values([:]).isEmpty)
            #expect(source.values(Dictionary(uniqueKeysWithValues: source.properties.map { ($0, .byte(1)) })).isEmpty)
        }
        #expect(try values(.battery, ["Percentage": .double(50)]) == nil)
        #expect(try values(.network, ["Metered": .uint32(1)]) == nil)
    }

    @Test func localeIsItsVariables() throws {
        let variables = Value.array(["LANG=de_DE.UTF-8"], of: "s")
        #expect(try values(.locale, ["Locale": variables]) == variables)
    }

    @Test(arguments: [(true, "battery"), (false, "external")])
    func powerSourceIsAWord(isOnBattery: Bool, word: String) throws {
        #expect(try values(.powerSource, ["OnBattery": .boolean(isOnBattery)]) == .string(word))
    }

    @Test(
        arguments: [
            (0, "unknown"), (1, "charging"), (2, "discharging"), (3, "empty"), (4, "full"), (5, "unknown"),
        ] as [(UInt32, String)]
    )
    func batteryHasALevelAndAState(state: UInt32, word: String) throws {
        let value = try values(.battery, ["Percentage": .double(62.5), "State": .uint32(state)])
        #expect(value == .options(["level": .double(62.5), "state": .string(word)]))
    }

    @Test(
        arguments: [
            (20, 0, false, false), (50, 0, false, false), (60, 2, true, false), (70, 1, true, true),
            (70, 3, true, true),
            (70, 4, true, false),
        ] as [(UInt32, UInt32, Bool, Bool)]
    )
    func networkIsConnectedOrMetered(state: UInt32, metered: UInt32, isConnected: Bool, isMetered: Bool) throws {
        let value = try values(.network, ["State": .uint32(state), "Metered": .uint32(metered)])
        #expect(value == .options(["connected": .boolean(isConnected), "metered": .boolean(isMetered)]))
        if metered == 0 {
            #expect(try values(.network, ["State": .uint32(state)]) == value)
        }
    }
}
