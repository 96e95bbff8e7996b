internal import ArgumentParser
internal import DBus
internal import OpenURLBus
internal import Translations
internal import URLOpener

struct Notifications: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifications",
        abstract: translated("Show and cancel the notifications that handlers have scheduled."),
        examples: [
            "openurl notifications",
            "openurl notifications cancel com.acme.todolist tea",
        ],
        subcommands: [NotificationsList.self, NotificationsCancel.self],
        defaultSubcommand: NotificationsList.self
    )
}

struct NotificationsList: Command {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: translated("List the notifications that are still to come, the soonest first."),
        discussion: translated(
            """
            NEXT is the time when a notification is shown; EVERY says how often.
            '…' replaces possible secrets: queries, fragments, parameters, users and passwords.
            """
        ),
        examples: [
            "openurl notifications list",
            "openurl notifications list --json com.acme.todolist",
        ]
    )

    @Flag(
        help: .init(
            translated("Show each URL in full, including possible secrets, and with --json the handler's own data.")
        )
    )
    var showQueries = false

    @OptionGroup var tableOptions: TableOptions

    @Argument(
        help: .init(translated("The bundle identifier of a handler, to list only its notifications."), valueName: "id"),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var id: String?

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let router = RouterClient(on: invocation)
        let all = try router.notifications(of: id ?? "")
        if let id, all.isEmpty { try router.checkHandler(id) }
        let notifications = all.map { showQueries ? $0 : $0.redacted }
        if tableOptions.json {
            for notification in notifications { invocation.output.print(JSON(notification).text) }
            return 0
        }
        Table(
            columns: [
                Column(translated("HANDLER"), .cut(least: 16)), Column(translated("IDENTIFIER"), .cut(least: 10)),
                Column(translated("NEXT")), Column(translated("EVERY")),
                Column(translated("TITLE"), .cut(least: 8)), Column(translated("TEXT"), .cut(least: 16)),
                Column(translated("URL"), .cut(least: 16)),
            ],
            rows: notifications.map(\.row),
            empty: translated("No notifications are scheduled.")
        ).print(invocation, isWide: tableOptions.wide)
        return 0
    }
}

struct NotificationsCancel: Command {
    static let configuration = CommandConfiguration(
        commandName: "cancel",
        abstract: translated("Remove notifications of a handler, from the screen too."),
        examples: [
            "openurl notifications cancel com.acme.todolist tea",
            "openurl notifications cancel --all com.acme.todolist",
        ]
    )

    @Flag(help: .init(translated("Select every notification of the handler.")))
    var all = false

    @OptionGroup var outputOptions: OutputOptions

    @Argument(
        help: .init(translated("The bundle identifier of the handler."), valueName: "id"),
        completion: .handlers,
        transform: CommandLineArgument.requiredText
    )
    var id: String

    @Argument(
        help: .init(
            translated("The identifier of a notification, as 'openurl notifications' shows it."),
            valueName: "identifier"
        ),
        completion: .notifications,
        transform: CommandLineArgument.requiredText
    )
    var identifiers: [String] = []

    func validate() throws {
        if all == identifiers.isEmpty { return }
        throw ValidationError(
            all
                ? translated("use --all without identifiers")
                : translated("give the identifiers of the notifications, or use --all")
        )
    }

    func perform(_ invocation: Invocation) throws(CommandFailure) -> Int32 {
        let router = RouterClient(on: invocation)
        // A handler that is no longer registered may still have notifications. Those on the screen are not in the list.
        let known = try router.notifications(of: id)
        if all { _ = try router.call(NotificationsInterface.cancelAll, id, refusal: ExitStatus.failure) }
        if known.isEmpty { try router.checkHandler(id) }
        if all {
            for notification in known { report(notification.identifier, invocation) }
            return 0
        }
        let batch = Batch(key: "identifier", printsJSON: outputOptions.json, invocation: invocation)
        return batch.perform(identifiers, name: \.self) { (identifier) throws(CommandFailure) in
            // It may be on the screen, and then the list no longer has it.
            let input = Arguments(id, identifier)
            _ = try router.call(NotificationsInterface.cancel, input, refusal: ExitStatus.failure)
            report(identifier, invocation)
        }
    }

    private func report(_ identifier: String, _ invocation: Invocation) {
        guard outputOptions.json else { return }
        invocation.output.print(JSON.object([("identifier", .string(identifier))]).text)
    }
}

extension RouterClient {
    /// Returns the notifications of a handler that are still to come; those of all handlers if the identifier is empty.
    fileprivate func notifications(of id: String) throws(CommandFailure) -> [LocalNotification] {
        do throws(CommandFailure) {
            return try call(NotificationsInterface.list, id, refusal: ExitStatus.failure)
        } catch {
            throw suggestingHandler(for: id, error.ofHandler(id))
        }
    }
}

extension LocalNotification {
    /// The notification without possible secrets.
    fileprivate var redacted: LocalNotification {
        var redacted = self
        redacted.url = url.map { RedactedURL($0).text }
        redacted.userInfo = [:]
        return redacted
    }

    var row: [Cell] {
        [
            Cell(handler ?? Table.absent), Cell(identifier),
            next.map { Cell(time: $0, isExact: true) } ?? .absent,
            repeatInterval.map { Cell($0.rawValue) } ?? .absent,
            title.map { Cell($0) } ?? .absent, Cell(text), url.map { Cell($0) } ?? .absent,
        ]
    }
}
