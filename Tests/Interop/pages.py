"""A page with links to URLs of the scheme, on a web server of this machine."""

import html, http.server, threading


class Page:
    """The page, until the process ends. The links have the IDs `link0`, `link1` and so on."""

    def __init__(self, urls):
        links = "".join(f'<p><a id="link{number}" href="{html.escape(url)}">{html.escape(url)}</a>'
                        for number, url in enumerate(urls))
        text = f"<!DOCTYPE html><meta charset=utf-8><title>links</title>{links}".encode()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.origin = f"http://127.0.0.1:{server.server_port}"
