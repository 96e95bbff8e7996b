// A test names the types of its delegate, so `import URLHandlerTesting` has to be enough.
@_exported public import URLHandler
