internal import CGTK
internal import Translations

/// The window that asks the question. It is usable without a mouse, and each part has a name for screen readers.
@MainActor final class ChooserWindow {
    private typealias Widget = UnsafeMutablePointer<GtkWidget>

    /// The choice; nil if the person has closed the window.
    private(set) var choice: Choice?

    private let question: Question
    private let window: Widget
    private let list: Widget
    private var rows: [Widget] = []
    private var rememberSite: Widget?
    private var rememberSender: Widget?
    private var privateWindow: Widget?
    /// The options, in the order of Tab.
    private var tabStops: [Widget] = []
    private let loop = g_main_loop_new(nil, 0)

    /// Makes the window, and shows nothing yet. GTK is initialized.
    init(_ question: Question) {
        self.question = question
        window = gtk_window_new()
        list = gtk_list_box_new()
        let content: Widget = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12)
        for setMargin in [
            gtk_widget_set_margin_top, gtk_widget_set_margin_bottom, gtk_widget_set_margin_start,
            gtk_widget_set_margin_end,
        ] {
            setMargin(content, 18)
        }
        for part in [linkText(), senderText(), candidateList()] + options() { append(part, to: content) }
        gtk_window_set_title(cast(window), translated("Open a link"))
        // Tiling window managers let a window of a fixed size float.
        gtk_window_set_resizable(cast(window), 0)
        gtk_window_set_child(cast(window), content)
        connectSignals()
    }

    /// Shows the window with the question's activation token, and returns after the person has chosen or closed it.
    func run() {
        if !question.token.isEmpty { use_activation_token(cast(window), question.token) }
        if let first = rows.first {
            gtk_list_box_select_row(OpaquePointer(list), cast(first))
            gtk_window_set_focus(cast(window), first)
        }
        gtk_window_present(cast(window))
        g_main_loop_run(loop)
    }

    /// Keeps the window's surface, which nobody sees, until the chosen program takes the focus from it. A key or the time
    /// limit ends this too.
    ///
    /// Some Wayland compositors, such as Mutter, take a token only while the surface that asked for it exists.
    func waitForChosenProgram() {
        guard is_wayland_surface(window) != 0 else { return }
        gtk_widget_set_opacity(window, 0)
        ignore_pointer(window)
        let this = Unmanaged.passUnretained(self).toOpaque()
        let changed: @convention(c) (OpaquePointer, OpaquePointer, gpointer) -> Void = { _, _, this in
            ChooserWindow.from(this) { $0.close() }
        }
        connect(window, "notify::is-active", unsafeBitCast(changed, to: GCallback.self), this)
        let limitInMilliseconds: guint = 3000
        g_timeout_add(
            limitInMilliseconds,
            { this in
                if let this { ChooserWindow.from(this) { $0.close() } }
                return 0
            },
            this
        )
        g_main_loop_run(loop)
    }

    private func close() { g_main_loop_quit(loop) }

    // MARK: The parts

    private func linkText() -> Widget {
        let shown = ShownURL(question.url)
        let dimmed = { (text: String) in "<span alpha=\"65%\">\(Self.escaped(text))</span>" }
        let marked =
            shown.host.isEmpty
            ? Self.escaped(shown.text)
            : "\(dimmed(shown.before))<b>\(Self.escaped(shown.host))</b>\(dimmed(shown.after))"
        let label: Widget = gtk_label_new(nil)
        // A hyphen at the end of a line would look like a part of the URL.
        gtk_label_set_markup(OpaquePointer(label), "<span insert_hyphens=\"false\">\(marked)</span>")
        gtk_label_set_wrap(OpaquePointer(label), 1)
        gtk_label_set_wrap_mode(OpaquePointer(label), PANGO_WRAP_CHAR)
        gtk_label_set_width_chars(OpaquePointer(label), 52)
        gtk_label_set_max_width_chars(OpaquePointer(label), 52)
        gtk_label_set_xalign(OpaquePointer(label), 0)
        // URLs run from left to right in all languages.
        gtk_widget_set_direction(label, GTK_TEXT_DIR_LTR)
        return label
    }

    private var senderSentence: String {
        question.source.isEmpty
            ? translated("The link comes from an unknown program.")
            : translated("The link comes from \(Self.isolated(shownName(question.source))).")
    }

    private func senderText() -> Widget {
        let label: Widget = gtk_label_new(senderSentence)
        gtk_label_set_xalign(OpaquePointer(label), 0)
        gtk_label_set_ellipsize(OpaquePointer(label), PANGO_ELLIPSIZE_END)
        return label
    }

    private func candidateList() -> Widget {
        gtk_list_box_set_selection_mode(OpaquePointer(list), GTK_SELECTION_BROWSE)
        gtk_widget_add_css_class(list, "rich-list")
        set_accessible_text(list, GTK_ACCESSIBLE_PROPERTY_LABEL, translated("Programs that can open the link"))
        set_accessible_text(
            list,
            GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
            "\(ShownURL(question.url).text). \(senderSentence)"
        )
        for (index, candidate) in question.candidates.enumerated() {
            let row = candidateRow(candidate, number: index + 1)
            rows.append(row)
            gtk_list_box_append(OpaquePointer(list), row)
        }
        let scrolled: Widget = gtk_scrolled_window_new()
        gtk_scrolled_window_set_policy(OpaquePointer(scrolled), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC)
        gtk_scrolled_window_set_propagate_natural_height(OpaquePointer(scrolled), 1)
        gtk_scrolled_window_set_max_content_height(OpaquePointer(scrolled), 456)
        gtk_scrolled_window_set_has_frame(OpaquePointer(scrolled), 1)
        gtk_scrolled_window_set_child(OpaquePointer(scrolled), list)
        // The rows take the focus, and scroll into view.
        gtk_widget_set_focusable(scrolled, 0)
        return scrolled
    }

    private func candidateRow(_ candidate: Question.Candidate, number: Int) -> Widget {
        let content: Widget = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 12)
        append(icon(of: candidate), to: content)
        let name: Widget = gtk_label_new(candidate.shownName)
        gtk_label_set_ellipsize(OpaquePointer(name), PANGO_ELLIPSIZE_END)
        gtk_label_set_xalign(OpaquePointer(name), 0)
        gtk_widget_set_hexpand(name, 1)
        append(name, to: content)
        let row: Widget = gtk_list_box_row_new()
        if Self.numbersWithKeys.contains(number) {
            let key: Widget = gtk_label_new("\(number)")
            gtk_widget_add_css_class(key, "dim-label")
            append(key, to: content)
            set_accessible_text(row, GTK_ACCESSIBLE_PROPERTY_KEY_SHORTCUTS, "\(number)")
        }
        gtk_list_box_row_set_child(cast(row), content)
        set_accessible_text(row, GTK_ACCESSIBLE_PROPERTY_LABEL, candidate.shownName)
        return row
    }

    private func icon(of candidate: Question.Candidate) -> Widget {
        let icon: OpaquePointer?
        if candidate.icon.hasPrefix("/") {
            let file = g_file_new_for_path(candidate.icon)
            icon = g_file_icon_new(file)
            g_object_unref(UnsafeMutableRawPointer(file))
        } else {
            icon = g_themed_icon_new(candidate.icon)
            g_themed_icon_append_name(icon, "application-x-executable")
        }
        defer { g_object_unref(UnsafeMutableRawPointer(icon)) }
        let image: Widget = new_decoration(icon)
        gtk_image_set_pixel_size(OpaquePointer(image), 32)
        return image
    }

    private func options() -> [Widget] {
        var options: [Widget] = []
        let once = checkButton(translated("_Only this time"), GTK_ACCESSIBLE_ROLE_RADIO)
        func add(_ text: String) -> Widget {
            let option = checkButton(text, GTK_ACCESSIBLE_ROLE_RADIO)
            gtk_check_button_set_group(cast(option), cast(once))
            options.append(option)
            return option
        }
        if !question.host.isEmpty {
            let host = Self.escapedMnemonic(shortened(question.host[...], to: 48))
            rememberSite = add(translated("Always for links _to \(host)"))
        }
        if question.hasSourceID {
            let name = Self.escapedMnemonic(Self.isolated(shownName(question.source)))
            rememberSender = add(translated("Always for links _from \(name)"))
        }
        if !options.isEmpty {
            gtk_check_button_set_active(cast(once), 1)
            let group: Widget = new_box_with_role(GTK_ACCESSIBLE_ROLE_RADIO_GROUP, GTK_ORIENTATION_VERTICAL, 6)
            set_accessible_text(group, GTK_ACCESSIBLE_PROPERTY_LABEL, translated("Remember the choice"))
            for option in [once] + options { append(option, to: group) }
            tabStops.append(once)
            options = [group]
        } else {
            g_object_unref(g_object_ref_sink(once))
        }
        if question.candidates.contains(where: \.offersPrivateWindow) {
            let option = checkButton(translated("_Private window"), GTK_ACCESSIBLE_ROLE_CHECKBOX)
            privateWindow = option
            tabStops.append(option)
            options.append(option)
        }
        return options
    }

    private func checkButton(_ text: String, _ role: GtkAccessibleRole) -> Widget {
        let button: Widget = new_check_button(role, text)
        // Otherwise its name has the underscores that mark keys.
        let mark = "\0"
        let name = text.replacing("__", with: mark).replacing("_", with: "").replacing(mark, with: "_")
        set_accessible_text(button, GTK_ACCESSIBLE_PROPERTY_LABEL, name)
        return button
    }

    /// The candidates that a key chooses.
    private static let numbersWithKeys = 1...9

    // MARK: What the person does

    private func connectSignals() {
        let this = Unmanaged.passUnretained(self).toOpaque()
        let activated: @convention(c) (OpaquePointer, UnsafeMutablePointer<GtkListBoxRow>, gpointer) -> Void = {
            _,
            row,
            this in
            let number = Int(gtk_list_box_row_get_index(row)) + 1
            ChooserWindow.from(this) { $0.choose(number) }
        }
        connect(list, "row-activated", unsafeBitCast(activated, to: GCallback.self), this)
        let closed: @convention(c) (OpaquePointer, gpointer) -> gboolean = { _, this in
            ChooserWindow.from(this) { $0.close() }
            return 1
        }
        connect(window, "close-request", unsafeBitCast(closed, to: GCallback.self), this)
        if let privateWindow {
            let toggled: @convention(c) (OpaquePointer, gpointer) -> Void = { _, this in
                ChooserWindow.from(this) { $0.showPrivateCandidates() }
            }
            connect(privateWindow, "toggled", unsafeBitCast(toggled, to: GCallback.self), this)
        }
        let pressed: @convention(c) (OpaquePointer, guint, guint, GdkModifierType, gpointer) -> gboolean = {
            _,
            key,
            _,
            modifiers,
            this in
            // Other keys and combinations are those of the window manager and of GTK.
            guard modifiers.rawValue & gtk_accelerator_get_default_mod_mask().rawValue == 0 else { return 0 }
            return ChooserWindow.from(this) { $0.press(key) } ? 1 : 0
        }
        let keys = gtk_event_controller_key_new()
        // Before the widget with the focus, for which a digit may mean something else.
        gtk_event_controller_set_propagation_phase(keys, GTK_PHASE_CAPTURE)
        g_signal_connect_data(
            keys.map(UnsafeMutableRawPointer.init),
            "key-pressed",
            unsafeBitCast(pressed, to: GCallback.self),
            this,
            nil,
            GConnectFlags(rawValue: 0)
        )
        gtk_widget_add_controller(window, keys)
        g_unix_signal_add(
            SIGTERM,
            { this in
                if let this { ChooserWindow.from(this) { $0.close() } }
                return 1
            },
            this
        )
    }

    /// Calls the body with the window that a signal was connected for. GTK calls its signals on the main thread.
    private nonisolated static func from<Result: Sendable>(
        _ pointer: gpointer,
        _ body: @MainActor (ChooserWindow) -> Result
    ) -> Result {
        let window = Unmanaged<ChooserWindow>.fromOpaque(pointer).takeUnretainedValue()
        return MainActor.assumeIsolated { body(window) }
    }

    private func connect(_ widget: Widget, _ signal: String, _ callback: @escaping GCallback, _ this: gpointer) {
        g_signal_connect_data(widget, signal, callback, this, nil, GConnectFlags(rawValue: 0))
    }

    /// Does what a key means. Returns false if the key means nothing here.
    private func press(_ key: guint) -> Bool {
        if key == GDK_KEY_Escape || choice != nil {
            close()
            return true
        }
        // In a list, GTK goes from row to row.
        if key == GDK_KEY_Tab, hasListTheFocus, let next = tabStops.first {
            return gtk_widget_grab_focus(next) != 0
        }
        let digit = Int(gdk_keyval_to_unicode(key)) - Int(UInt8(ascii: "0"))
        guard Self.numbersWithKeys.contains(digit) else { return false }
        choose(digit)
        return true
    }

    private var hasListTheFocus: Bool {
        guard let focus = gtk_window_get_focus(cast(window)) else { return false }
        return gtk_widget_is_ancestor(focus, list) != 0
    }

    private func choose(_ number: Int) {
        let isActive = { (option: Widget?) in option.map { gtk_check_button_get_active(self.cast($0)) != 0 } ?? false }
        let remember: Choice.Remember = isActive(rememberSite) ? .site : isActive(rememberSender) ? .sender : .no
        guard var choice = question.choice(of: number, remember: remember, privately: isActive(privateWindow)) else {
            gtk_widget_error_bell(window)
            return
        }
        choice.token = token(for: question.candidates[number - 1])
        self.choice = choice
        close()
    }

    /// Returns a new activation token for a candidate; empty if the display gives none. The window must still have the
    /// focus.
    private func token(for candidate: Question.Candidate) -> String {
        let context = gdk_display_get_app_launch_context(gtk_widget_get_display(window))
        let application =
            g_desktop_app_info_new(candidate.id)
            ?? g_app_info_create_from_commandline("openurl", candidate.name, G_APP_INFO_CREATE_NONE, nil)
        defer {
            g_object_unref(UnsafeMutableRawPointer(context))
            g_object_unref(UnsafeMutableRawPointer(application))
        }
        guard let token = g_app_launch_context_get_startup_notify_id(.init(context), application, nil) else {
            return ""
        }
        defer { g_free(token) }
        return String(cString: token)
    }

    private func showPrivateCandidates() {
        let privately = privateWindow.map { gtk_check_button_get_active(cast($0)) != 0 } ?? false
        for (row, candidate) in zip(rows, question.candidates) {
            gtk_widget_set_sensitive(row, !privately || candidate.offersPrivateWindow ? 1 : 0)
        }
    }

    // MARK: GTK's types

    private func append(_ widget: Widget, to box: Widget) { gtk_box_append(cast(box), widget) }

    /// GTK's functions take the type that declares them, and return `GtkWidget`.
    private func cast<Object>(_ widget: Widget) -> UnsafeMutablePointer<Object> {
        UnsafeMutableRawPointer(widget).assumingMemoryBound(to: Object.self)
    }

    // MARK: Texts

    /// Returns a text as it appears in markup.
    private static func escaped(_ text: String) -> String {
        guard let escaped = g_markup_escape_text(text, -1) else { return "" }
        defer { g_free(escaped) }
        return String(cString: escaped)
    }

    /// Returns a name that does not change the direction of the sentence around it.
    private static func isolated(_ name: String) -> String { "\u{2068}\(name)\u{2069}" }

    /// Returns a text whose underscores do not mark a key.
    private static func escapedMnemonic(_ text: String) -> String { text.replacing("_", with: "__") }
}
