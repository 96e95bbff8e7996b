import OpenURLBus
import Testing

@testable import DBus
@testable import URLRouter

/// The conditions of tasks, as services on the system bus report them.
@Suite struct TaskConditionsTests {
    @Test func eachConditionHasASource() {
        let conditions = TaskConditions.Source.allCases.flatMap(\.conditions)
        #expect(conditions.count == TaskRequirement.allCases.count)
        #expect(Set(conditions) == Set(TaskRequirement.allCases))
    }

    @Test func conditionIsTrueIfNobodyKnowsBetter() {
        for source in TaskConditions.Source.allCases {
            #expect(source.trueConditions([:]) == source.conditions)
        }
    }

    @Test(arguments: [(true, []), (false, [.externalPower])] as [(Bool, Set<TaskRequirement>)])
    func powerIsExternalUnlessItIsTheBatterys(isOnBattery: Bool, conditions: Set<TaskRequirement>) {
        #expect(TaskConditions.Source.power.trueConditions(["OnBattery": .boolean(isOnBattery)]) == conditions)
    }

    @Test(
        arguments: [
            (20, 2, []), (60, 1, [.network]), (70, 3, [.network]), (70, 2, [.network, .unmeteredNetwork]),
            (70, 0, [.network, .unmeteredNetwork]),
        ] as [(UInt32, UInt32, Set<TaskRequirement>)]
    )
    func networkMayBeMetered(state: UInt32, metered: UInt32, conditions: Set<TaskRequirement>) {
        let properties: [String: Value] = ["State": .uint32(state), "Metered": .uint32(metered)]
        #expect(TaskConditions.Source.network.trueConditions(properties) == conditions)
    }

    @Test(arguments: [(true, [.idle]), (false, [])] as [(Bool, Set<TaskRequirement>)])
    func sessionSaysWhetherItIsIdle(isIdle: Bool, conditions: Set<TaskRequirement>) {
        #expect(TaskConditions.Source.session.trueConditions(["IdleHint": .boolean(isIdle)]) == conditions)
    }
}
