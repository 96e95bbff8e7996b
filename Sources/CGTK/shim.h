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

// Widgets with roles of their own, which can only be given to them when they are made.
static inline GtkWidget *new_box_with_role(GtkAccessibleRole role, GtkOrientation orientation, int spacing) {
    return g_object_new(GTK_TYPE_BOX, "accessible-role", role, "orientation", orientation, "spacing", spacing, NULL);
}
static inline GtkWidget *new_check_button(GtkAccessibleRole role, const char *text) {
    return g_object_new(GTK_TYPE_CHECK_BUTTON, "accessible-role", role, "label", text, "use-underline", TRUE, NULL);
}
static inline GtkWidget *new_decoration(GIcon *icon) {
    return g_object_new(GTK_TYPE_IMAGE, "accessible-role", GTK_ACCESSIBLE_ROLE_PRESENTATION, "gicon", icon, NULL);
}

// Returns whether the window is on a Wayland display.
static inline gboolean is_wayland_surface(GtkWidget *window) {
#ifdef GDK_WINDOWING_WAYLAND
    return GDK_IS_WAYLAND_DISPLAY(gtk_widget_get_display(window));
#else
    return FALSE;
#endif
}

// Lets the pointer reach what is below a window that is shown.
static inline void ignore_pointer(GtkWidget *window) {
    cairo_region_t *nothing = cairo_region_create();
    gdk_surface_set_input_region(gtk_native_get_surface(GTK_NATIVE(window)), nothing);
    cairo_region_destroy(nothing);
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
