// The public declarations here use types of these modules, so `import OpenURL` has to be enough.
@_exported public import DBus
@_exported public import OpenURLBus
@_exported public import RFC1808
@_exported public import Reactor
