import OpenURLBus
import Testing

@testable import DBus

/// Writes a value into a real message and reads it as another type of the same signature.
func recoded<Input: MessageBody, Output: MessageBody>(
    _ input: Input,
    as type: Output.Type = Output.self
) throws -> Output {
    let message = try Message(.signal("com.example.Test1", "Test", from: "/com/example/Test", input, limit: 1 << 20))
    return try message.contents(limit: .max)
}

/// Returns the reason why the options cannot be read as a type, or nil if they can.
func problem<Output: MessageBody>(_ options: [String: Value], as type: Output.Type) throws -> String? {
    let message = try Message(.signal("com.example.Test1", "Test", from: "/com/example/Test", options, limit: 1 << 20))
    do throws(MessageDecodingError) {
        let _: Output = try message.contents(limit: .max)
        return nil
    } catch {
        return error.description
    }
}

/// The types of integers, which can stand for each other.
private let integers: Set<Signature> = ["y", "n", "q", "i", "u", "x", "t"]

/// The samples whose type a key of the given type does not take.
func samples(otherThan signature: Signature) -> [Value] {
    samples.filter { sample in
        sample.signature != signature && !(integers.contains(signature) && integers.contains(sample.signature))
    }
}

/// Expects that a known key has exactly one type, and that every other type is an error that names both types.
func expectType<Output: MessageBody>(
    _ signature: Signature,
    of key: String,
    in options: [String: Value],
    as type: Output.Type
) throws {
    for sample in samples(otherThan: signature) {
        let found = try problem(options.merging([key: sample]) { $1 }, as: type)
        #expect(found == "'\(key)' must be of type '\(signature)', not '\(sample.signature)'")
    }
}

/// The samples have one value of each type that a key can have by mistake.
let samples: [Value] = [
    .byte(1), .boolean(true), .int32(1), .uint32(1), .int64(1), .uint64(1), .double(1), .string("1"),
    .array([.string("1")], of: "s"), .array([], of: "v"), .options(["k": "v"]),
    .dictionary(["k": "v"], key: "s", value: "s"), .structure([.string("1")]),
]
