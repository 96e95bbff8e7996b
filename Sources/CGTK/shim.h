// libgtk-4, and those of its interfaces that Swift cannot call.
#include <glib-unix.h>
#include <gtk/gtk.h>
#ifdef GDK_WINDOWING_WAYLAND
#include <gdk/wayland/gdkwayland.h>
#endif

// This function's header is in another package.
extern GAppInfo *g_desktop_app_info_new(const char *id);

// Swift cannot call functions that take a variable number of arguments.
static inline void set_accessible_text(GtkWidget *widget, GtkAccessibleProperty property, const char *text) {
    gtk_accessible_update_property(GTK_ACCESSIBLE(widget), property, text, -1);
}
static inline void prefer_dark_theme(void) {
    g_object_set(gtk_settings_get_default(), "gtk-application-prefer-dark-theme", TRUE, NULL);
}

// A widget with a role of its own: the role is only set when the widget is made.
static inline GtkWidget *new_box_with_role(GtkAccessibleRole role, GtkOrientation orientation, int spacing) {
    return g_object_new(GTK_TYPE_BOX, "accessible-role", role, "orientation", orientation, "spacing", spacing, NULL);
}

// Uses an activation token for the window that is shown next. Under Wayland, GTK takes the token from the display before
// version 4.10, and from the window since then.
static inline void use_activation_token(GtkWindow *window, const char *token) {
#ifdef GDK_WINDOWING_WAYLAND
    GdkDisplay *display = gtk_widget_get_display(GTK_WIDGET(window));
    if (GDK_IS_WAYLAND_DISPLAY(display)) gdk_wayland_display_set_startup_notification_id(display, token);
#endif
    gtk_window_set_startup_id(window, token);
}

// Returns whether the first value of a reply is this number, which may be inside of variants.
static inline gboolean reply_holds(GVariant *reply, guint32 number) {
    GVariant *value = g_variant_n_children(reply) > 0 ? g_variant_get_child_value(reply, 0) : NULL;
    while (value && g_variant_is_of_type(value, G_VARIANT_TYPE_VARIANT)) {
        GVariant *inner = g_variant_get_variant(value);
        g_variant_unref(value);
        value = inner;
    }
    if (!value) return FALSE;
    gboolean holds = g_variant_is_of_type(value, G_VARIANT_TYPE_UINT32) && g_variant_get_uint32(value) == number;
    g_variant_unref(value);
    return holds;
}
