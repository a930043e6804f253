"""An HTTP server on loopback with a few fixed answers; exits when its stdin ends.

Prints its port. /text is a small text, /count counts its requests, /moved redirects to /text,
/cut breaks off, /hang never answers; everything else is 404.
"""
import http.server
import sys
import threading


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = 0

    def do_GET(self):
        if self.path == "/text":
            self.give(200, b"from the web\n")
        elif self.path == "/count":
            Answers.asked += 1
            self.give(200, b"asked %d times\n" % Answers.asked)
        elif self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/text")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path == "/cut":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"half")
            self.close_connection = True
        elif self.path == "/hang":
            self.rfile.read()  # until the client gives up
        else:
            self.give(404, b"nothing here\n")

    def give(self, status, body):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
server.daemon_threads = True
print(server.server_port, flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
