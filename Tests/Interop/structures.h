// The structures of the interfaces, for code that qdbusxml2cpp has generated.
#pragma once
#include <QtDBus>

/** A step of an open: its name, its time in microseconds, and the answer. */
struct DBusStructure_stb {
    QString name;
    qulonglong microseconds;
    bool answer;
};
Q_DECLARE_METATYPE(DBusStructure_stb)

inline QDBusArgument &operator<<(QDBusArgument &message, const DBusStructure_stb &step) {
    message.beginStructure();
    message << step.name << step.microseconds << step.answer;
    message.endStructure();
    return message;
}

inline const QDBusArgument &operator>>(const QDBusArgument &message, DBusStructure_stb &step) {
    message.beginStructure();
    message >> step.name >> step.microseconds >> step.answer;
    message.endStructure();
    return message;
}

/** A file that is sent to an inbox: its name and its descriptor. */
struct DBusStructure_sh {
    QString name;
    QDBusUnixFileDescriptor file;
};
Q_DECLARE_METATYPE(DBusStructure_sh)

inline QDBusArgument &operator<<(QDBusArgument &message, const DBusStructure_sh &sent) {
    message.beginStructure();
    message << sent.name << sent.file;
    message.endStructure();
    return message;
}

inline const QDBusArgument &operator>>(const QDBusArgument &message, DBusStructure_sh &sent) {
    message.beginStructure();
    message >> sent.name >> sent.file;
    message.endStructure();
    return message;
}
