internal import OpenURLBus

/// The file with the registrations for pushes. Only its user may read it, because its tokens let a program send pushes. If
/// it is damaged, the handlers register again at their next launch.
typealias PushStore = StoredList<StoredRegistration>

extension StoredRegistration: ListedRecord {
    // Each registration has strings of limited size.
    static let list = ListDescription(
        name: "pushes",
        limit: PushInterface.registrations * 4096,
        contents: "registrations for pushes",
        element: "registration"
    )

    var isPossible: Bool { true }
}
