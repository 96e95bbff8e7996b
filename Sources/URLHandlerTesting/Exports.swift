// A test uses its delegate's types, so `import URLHandlerTesting` has to be enough.
@_exported public import URLHandler
