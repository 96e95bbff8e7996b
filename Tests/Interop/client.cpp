// A caller whose proxy qdbusxml2cpp has made: opens the URL of the argument, and prints the handler.

#include <QCoreApplication>
#include <QTextStream>
#include "router.h"

int main(int count, char **arguments) {
    QCoreApplication application(count, arguments);
    OrgOpenurlRouter1Interface router("org.openurl.Router1", "/org/openurl/Router1", QDBusConnection::sessionBus());
    auto reply = router.OpenURL(application.arguments().value(1), QVariantMap());
    reply.waitForFinished();
    if (reply.isError()) {
        QTextStream(stderr) << reply.error().message() << "\n";
        return 1;
    }
    QTextStream(stdout) << reply.value().value("handler").toString() << "\n";
    return 0;
}
