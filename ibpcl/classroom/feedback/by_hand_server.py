"""A server on this machine for the page of derivations, which saves every entry in ``by-hand.csv``.

It listens on the loopback address only.  A request needs the token that the command prints, and the
address of this server as its host, so no page of another site can read or write anything.
"""

import json
import secrets
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from ibpcl.classroom.feedback import by_hand, records
from ibpcl.classroom.feedback.derivations_page import derivations_page
from ibpcl.classroom.intake.spreadsheet import number
from ibpcl.errors import UserError

ADDRESS = "127.0.0.1"
MOST_BYTES = 1 << 20  # of one request
FIELDS = ("student", "task", "points", "comment", "seen_points", "seen_comment")


class Refused(Exception):
    """A request that is refused.

    Parameters
    ----------
    status : http.HTTPStatus
        The status of the answer.
    words : str
        The reason.
    """

    def __init__(self, status, words):
        super().__init__(words)
        self.status = status


class Server(ThreadingHTTPServer):
    """Serves the page of derivations of one class.

    Parameters
    ----------
    folder : pathlib.Path
        Folder of results.
    anonymous : bool
        Whether students have numbers in place of their ids.
    port : int
        Port; 0 chooses a free one.

    Attributes
    ----------
    address : str
        Address of the page, with the token.

    Raises
    ------
    UserError
        If the folder holds no results, no text to grade, or the port is taken.
    """

    daemon_threads = True

    def __init__(self, folder, anonymous=False, port=0):
        self.folder = folder
        self.anonymous = anonymous
        self.token = secrets.token_urlsafe(24)
        self.lock = threading.Lock()
        if not self.page():
            raise UserError(f"class: {folder} has no text that a person grades")
        try:
            super().__init__((ADDRESS, port), Handler)
        except OSError as error:
            raise UserError(f"class: port {port} cannot be used: {error.strerror}") from None
        self.address = f"http://{ADDRESS}:{self.server_port}/?token={self.token}"

    def page(self):
        """Return the page with the entries of ``by-hand.csv``; empty without derivations."""
        return derivations_page(records.load(self.folder), self.anonymous, self.token)

    def save(self, row):
        """Write one entry to ``by-hand.csv``.

        Parameters
        ----------
        row : dict of str to str
            The fields of :data:`FIELDS`: the entry, and what the page had seen before.

        Raises
        ------
        Refused
            If the student or task is unknown, the points are outside their range or not numeric,
            or the file has changed since the page was loaded.
        """
        with self.lock:
            found = records.load(self.folder)
            student = by_hand.finder([result.student for result in found.results])(row["student"])
            tasks = {task.id: task for task in found.assignment.tasks if task.kind == "text"}
            if not student or row["task"] not in tasks:
                raise Refused(HTTPStatus.NOT_FOUND, "no such student or task")
            try:
                points = number(row["points"]) if row["points"] else 0.0
            except ValueError:
                points = -1.0
            if not 0 <= points <= tasks[row["task"]].points:
                most = tasks[row["task"]].points
                raise Refused(HTTPStatus.BAD_REQUEST, f"points must be from 0 to {most:g}")
            used = {**found.table.used, **found.table.held}.get((student, row["task"]))
            now = (used.points, used.comment) if used else ("", "")
            if now not in (
                (row["seen_points"], row["seen_comment"]),
                (row["points"], row["comment"]),
            ):
                raise Refused(HTTPStatus.CONFLICT, "by-hand.csv has changed: load the page again")
            entry = by_hand.Entry(0, student, row["task"], row["points"], row["comment"], {})
            entry = entry._replace(others=used.others) if used else entry
            found.table.used[student, row["task"]] = entry
            found.table.held.pop((student, row["task"]), None)
            by_hand.write(found.table, found.results, self.folder / by_hand.FILE)


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    def do_GET(self):
        """Send the page."""
        asked = urlsplit(self.path)
        self.answer(lambda: self.page(asked.path, parse_qs(asked.query).get("token", [""])[0]))

    def do_POST(self):
        """Save one entry."""
        self.answer(self.saved)

    def page(self, path, token):
        """Return the page for the token."""
        self.check(token)
        if path != "/":
            raise Refused(HTTPStatus.NOT_FOUND, "there is one page only")
        return self.server.page(), "text/html; charset=utf-8"

    def saved(self):
        """Save the entry in the request."""
        self.check(self.headers.get("X-Token", ""))
        length = self.headers.get("Content-Length", "")
        if self.path != "/save" or self.headers.get("Content-Type") != "application/json":
            raise Refused(HTTPStatus.NOT_FOUND, "only entries can be saved")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the entry is too long")
        try:
            row = json.loads(self.rfile.read(int(length)))
        except ValueError:
            raise Refused(HTTPStatus.BAD_REQUEST, "the entry is not JSON") from None
        if not isinstance(row, dict) or not all(isinstance(row.get(f), str) for f in FIELDS):
            raise Refused(HTTPStatus.BAD_REQUEST, "a field of the entry is missing")
        self.server.save(row)
        return "saved", "text/plain; charset=utf-8"

    def check(self, token):
        """Raise Refused unless the request has the token and comes from this server's page."""
        own = f"{ADDRESS}:{self.server.server_port}"
        hosts = (own, f"localhost:{self.server.server_port}")
        origin = self.headers.get("Origin", f"http://{own}")
        if self.headers.get("Host") not in hosts or origin.removeprefix("http://") not in hosts:
            raise Refused(HTTPStatus.FORBIDDEN, "another site asks")
        if not secrets.compare_digest(token.encode(), self.server.token.encode()):
            raise Refused(HTTPStatus.FORBIDDEN, "the token is missing or wrong")

    def answer(self, make):
        """Send what a function returns, or why it refuses."""
        status = HTTPStatus.OK
        try:
            text, kind = make()
        except Refused as error:
            text = str(error)
            kind = "text/plain; charset=utf-8"
            status = error.status
        except UserError as error:
            text = str(error)
            kind = "text/plain; charset=utf-8"
            status = HTTPStatus.INTERNAL_SERVER_ERROR
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """Write nothing to the terminal."""
