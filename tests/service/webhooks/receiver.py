"""A receiver of webhooks on this machine: it keeps what comes and answers as it is told."""

import base64
import hashlib
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = "whsec_" + base64.b64encode(b"a key of thirty-two random bytes").decode()
#: Part of the receiver's address, as Slack and others have it: whoever knows it may post.
IN_PATH = "T0kenInThePath"
PATIENCE = 60.0
#: The least capacity that a stream may have, and as many predictions as are near it.
CAPACITY, MANY = 10_000, 8500


class Receiver:
    """Answers 200, or whatever `answers` has first: a status, or a function of the handler."""

    def __init__(self):
        self.messages, self.attempts, self.answers = [], [], []
        self.default = 200
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                message = Message(self.path, dict(self.headers.items()), body)
                receiver.attempts.append(message)
                answer = receiver.answers.pop(0) if receiver.answers else receiver.default
                if callable(answer):
                    answer(self)
                    return
                self.send_response(answer)
                if answer in (302, 307):
                    self.send_header("location", f"{receiver.url}/elsewhere")
                self.end_headers()
                if answer == 200:
                    receiver.messages.append(message)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/{IN_PATH}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def until(self, count):
        """Wait until so many messages were received, and return them as JSON."""
        wait_until(lambda: len(self.messages) >= count, lambda: self.attempts)
        return [json.loads(each.body) for each in self.messages]


class Message:
    """A message as it came."""

    def __init__(self, path, headers, body):
        self.path, self.body = path, body
        self.headers = {name.lower(): value for name, value in headers.items()}

    @property
    def id(self):
        return self.headers["webhook-id"]

    def is_signed(self, secret=SECRET):
        """Whether a signature is that of https://www.standardwebhooks.com, in words of our own."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        text = b"%s.%s.%s" % (
            self.id.encode(), self.headers["webhook-timestamp"].encode(), self.body
        )  # fmt: skip
        wanted = "v1," + base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
        return wanted in self.headers["webhook-signature"].split(" ")


def wait_until(is_so, why=lambda: ""):
    """Wait for something that must happen."""
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, why()
        time.sleep(0.01)
