import DBus
import Glibc
import Testing

/// The descriptors in a value whose type is known at run time only.
@Suite struct ValueDescriptorTests {
    private func nested(_ descriptors: [UnixFD]) -> Value {
        .options([
            "array": .array([.unixFD(descriptors[0]), .unixFD(descriptors[1])], of: "h"),
            "structure": .structure([.variant(.unixFD(descriptors[2])), .string("text")]),
            "dictionary": .dictionary([.unixFD(descriptors[3]): .byte(1)], key: "h", value: "y"),
            "number": .double(1),
        ])
    }

    @Test func descriptorsOfAllPartsCount() {
        let descriptors = (0..<4).map { _ in UnixFD(owning: dup(STDERR_FILENO)) }
        #expect(nested(descriptors).descriptorCount == 4)
        #expect(Value.options(["a": "b"]).descriptorCount == 0)
    }

    @Test func descriptorsAreTakenOnce() throws {
        let descriptors = (0..<4).map { _ in UnixFD(owning: dup(STDERR_FILENO)) }
        let numbers = descriptors.map(\.rawValue)
        let value = nested(descriptors)
        var taken = value.takingDescriptors()
        #expect(taken?.descriptorCount == 4)
        #expect(taken?.options?["number"] == .double(1))
        #expect(descriptors.map(\.rawValue) == [-1, -1, -1, -1])
        for number in numbers { #expect(fcntl(number, F_GETFD) >= 0) }
        #expect(value.takingDescriptors() == nil)
        taken = nil
    }

    @Test func valueWithoutDescriptorsStaysTheSame() {
        let value = Value.options(["a": .array(["b"], of: "s")])
        #expect(value.takingDescriptors() == value)
    }
}
