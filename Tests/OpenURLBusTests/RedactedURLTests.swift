import Testing

@testable import OpenURLBus

/// URLs without the parts that may be secrets.
@Suite(.timeLimit(.minutes(1))) struct RedactedURLTests {
    @Test(arguments: [
        ("todolist://www.acme.com/a/b", "todolist://www.acme.com/a/b"),
        ("todolist://www.acme.com?token=abc#frag", "todolist://www.acme.com?…#…"),
        ("app:/a;jsessionid=1?x", "app:/a;…?…"),
        ("app:/a?#", "app:/a?#"),
        ("https://user:pw@host:8443/p", "https://…@host:8443/p"),
        ("https://a@b@host/p", "…"),
        ("https://user@host", "https://…@host"),
        ("mailto:a@b.c?body=hello", "mailto:a@b.c?…"),
        ("tel:+49123", "tel:+49123"),
        ("data:text/html;base64,c2VjcmV0", "data:text/html,…"),
        ("data:,secret", "data:,…"),
        ("DATA:image/png,secret", "DATA:image/png,…"),
        ("javascript:alert(1)", "javascript:…"),
        ("view-source:https://u:p@h/?q", "view-source:…"),
        ("openurl-reply://TOKEN/success?a=b", "openurl-reply:…"),
        ("OpenURL-Reply://TOKEN/success", "OpenURL-Reply:…"),
        ("otpauth://totp/a?secret=JBSW", "otpauth://totp/a?…"),
        ("not a url with secret", "…"),
        ("app:a b?secret", "…"),
        ("//host/path?secret", "…"),
        ("", "…"),
    ])
    func leavesSecretsOut(_ url: String, _ text: String) {
        #expect(RedactedURL(url).text == text)
    }

    @Test(arguments: [
        ("app:x;y?q#f", "app:x;y?q#f"), ("https://user:pw@host/p;a?q#f", "https://…@host/p;a?q#f"),
        ("openurl-reply://TOKEN/success?a=b", "openurl-reply:…"), ("data:,secret", "data:,…"),
    ])
    func showsQueriesOnly(_ url: String, _ text: String) {
        #expect(RedactedURL(url, showsQueries: true).text == text)
    }

    @Test(arguments: [
        ("app:x?token=s3cret", "the token s3cret of app:x?token=s3cret is wrong", "the token … of app:x?… is wrong"),
        ("app:x?token=a%20b%2Fc", "no 'a b/c', no 'a%20b%2Fc'", "no '…', no '…'"),
        ("app:x?name=Ann+Lee", "Ann Lee is unknown", "… is unknown"),
        ("app:x?a=1", "no 1; 10 of 21 are left", "no …; 10 of 21 are left"),
        ("https://user:hunter2@host/", "user has no hunter2", "… has no …"),
        ("app:x#fragment", "the fragment is new", "the … is new"),
        ("data:,hello", "hello is no type", "… is no type"),
        ("openurl-reply://TOKEN/success?a=b", "no call waits for TOKEN/success", "no call waits for …/…"),
        ("not a url", "'not a url' has spaces", "'…' has spaces"),
        ("app:x?token=ü", "ü", "…"),
        ("app:x", "all of it stays", "all of it stays"),
    ])
    func leavesSecretsOutOfMessages(_ url: String, _ message: String, _ text: String) {
        #expect(RedactedURL(url).redacting(message) == text)
    }

    @Test func leavesAMessageOutWithoutLookingForThousandsOfSecrets() {
        let url = "app:x?" + (0..<1000).map { "name\($0)=value\($0)" }.joined(separator: "&")
        #expect(RedactedURL(url).redacting("the value999 is wrong") == "…")
    }

    @Test func cutsALongURL() {
        let text = RedactedURL("app:/" + String(repeating: "a", count: 60_000)).text
        #expect(text.utf8.count < 3000)
        #expect(text.hasSuffix("…"))
    }
}
