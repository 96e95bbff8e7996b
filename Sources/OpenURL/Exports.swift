// The public declarations of this module use types of these modules, so `import OpenURL` is enough for them.
@_exported public import DBus
@_exported public import OpenURLBus
@_exported public import RFC1808
@_exported public import Reactor
