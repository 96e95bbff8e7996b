import OpenURLBus
import SchemeRegistry
import Testing

/// The words of the registry, which knows nothing of D-Bus, are those of the contract.
@Suite struct ContractWordsTests {
    @Test func reachHasTheSameWordsInManifestsAndInTheContract() {
        #expect(Reach.allCases.map(\.rawValue) == HandlerReach.allCases.map(\.rawValue))
    }

    @Test func everyKindOfTheContractIsOneOfTheRegistry() {
        for kind in HandlerKind.allCases {
            #expect(Handler.Kind(rawValue: kind.rawValue) != nil, "\(kind)")
        }
    }
}
