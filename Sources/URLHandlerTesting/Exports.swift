// A test names the types of the delegate that it drives, so `import URLHandlerTesting` is enough for it.
@_exported public import URLHandler
