// A delegate gets and returns types from these modules, so `import URLHandler` has to be enough for a handler.
@_exported public import DBus
@_exported public import OpenURLBus
@_exported public import RFC1808
