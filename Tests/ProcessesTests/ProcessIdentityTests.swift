import Glibc
import Testing

@testable import Processes

/// The identity of processes, and their parents.
@Suite struct ProcessIdentityTests {
    private let own = UInt32(getpid())

    @Test func identityLastsAsLongAsTheProcess() throws {
        let identity = try #require(ProcessIdentity(pid: own))
        #expect(identity == ProcessIdentity(pid: own) && identity.startTime > 0)
        #expect(ProcessIdentity(pid: .max) == nil)
    }

    @Test func parentIsThatOfTheKernel() {
        #expect(ProcessIdentity.parent(of: own) == UInt32(getppid()))
        #expect(ProcessIdentity.parent(of: .max) == nil)
    }

    @Test func ancestorIsOnlyTheSameProcess() throws {
        let parent = try #require(ProcessIdentity(pid: UInt32(getppid())))
        #expect(parent.isAncestor(of: own))
        // Another process had the number before.
        #expect(!ProcessIdentity(pid: parent.pid, startTime: parent.startTime + 1).isAncestor(of: own))
        #expect(try !#require(ProcessIdentity(pid: own)).isAncestor(of: own))
    }

    @Test func memoryOfThisProcessIsCounted() {
        #expect(ProcessMemory.resident(pid: getpid()).map { $0 > 1 << 20 } == true)
        #expect(ProcessMemory.resident(pid: -1) == nil)
    }
}
