"""The page of derivations saves every entry, and serves nobody but its own page."""

import http.client
import json
import threading

import pytest
from classroom_common import first

from ibpcl.classroom.feedback import by_hand, records
from ibpcl.classroom.feedback.by_hand_server import Server
from ibpcl.classroom.judging.verdict import Result, Verdict
from ibpcl.errors import UserError
from ibpcl.storage import write_json


@pytest.fixture
def folder(tmp_path):
    settings = {"assignment": first().name, "folder": str(first().folder), "level": "kind"}
    write_json(tmp_path / records.SETTINGS, settings)
    for student in ("ada", "ben"):
        verdict = Verdict("1j", "text", "", "public", 10.0, 0.0, "by hand", details=["$x$"])
        result = Result(first().name, student, "base", "0" * 64, verdicts=[verdict])
        (tmp_path / student).mkdir()
        write_json(tmp_path / student / "result.json", result.to_dict())
    return tmp_path


@pytest.fixture
def server(folder):
    with Server(folder) as made:
        # it looks this often, in seconds, whether it must end
        thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield made
        made.shutdown()


def asked(server, method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=300)
    usual = {"X-Token": server.token, "Content-Type": "application/json"}
    connection.request(method, path, body, {**usual, **headers})
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def entry(**changes):
    usual = {"student": "ada", "task": "1j", "points": "7.5", "comment": "good"}
    return json.dumps({**usual, "seen_points": "", "seen_comment": "", **changes})


def test_an_entry_is_saved_at_once_and_read_by_the_report(server, folder):
    assert asked(server, "GET", f"/?token={server.token}")[0] == 200
    assert asked(server, "POST", "/save", entry())[0] == 200
    found = records.load(folder)
    assert [result.score for result in found.results] == [7.5, 0.0]
    assert found.results[0].verdicts[0].comment == "good"
    page = asked(server, "GET", f"/?token={server.token}")[1]
    assert '"points": "7.5"' in page
    again = entry(points="8", seen_points="7.5", seen_comment="good")
    assert asked(server, "POST", "/save", again)[0] == 200


def test_other_rows_and_columns_of_the_teacher_stay(server, folder):
    (folder / by_hand.FILE).write_text(
        "student;task;most;comment;points;room\nben;1b;10;on paper;3,5;A\nada;1j;10;;;B\n"
    )
    assert asked(server, "POST", "/save", entry())[0] == 200
    text = (folder / by_hand.FILE).read_text("utf-8-sig")
    assert "ben;1b;" in text and "3,5;A" in text and "7.5;B" in text


REFUSED = {
    "no token": ({"X-Token": ""}, {}, 403),
    "another token": ({"X-Token": "x" * 32}, {}, 403),
    "another host": ({"Host": "evil.example"}, {}, 403),
    "another site": ({"Origin": "https://evil.example"}, {}, 403),
    "a form of another site": ({"Content-Type": "text/plain"}, {}, 404),
    "another student": ({}, {"student": "eve"}, 404),
    "a judged task": ({}, {"task": "1b"}, 404),
    "too many points": ({}, {"points": "11"}, 400),
    "no number": ({}, {"points": "ten"}, 400),
    "a changed file": ({}, {"seen_points": "3"}, 409),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_an_entry_of_the_page_is_refused(name, server, folder):
    headers, fields, status = REFUSED[name]
    assert asked(server, "POST", "/save", entry(**fields), **headers)[0] == status
    assert not (folder / by_hand.FILE).exists()


def test_the_page_needs_the_token_and_there_is_no_other(server):
    assert asked(server, "GET", "/")[0] == 403
    assert asked(server, "GET", f"/ada/result.json?token={server.token}")[0] == 404
    assert asked(server, "GET", f"/?token={server.token}", Host="evil.example")[0] == 403
    assert server.server_address[0] == "127.0.0.1"


def test_an_anonymous_page_shows_no_id_and_saves(folder):
    with Server(folder, anonymous=True) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        page = asked(made, "GET", f"/?token={made.token}")[1]
        assert '"ada"' not in page
        assert asked(made, "POST", "/save", entry(student=by_hand.code("ada")))[0] == 200
        made.shutdown()
    assert records.load(folder).results[0].score == 7.5


def test_a_folder_without_texts_is_refused(folder):
    for student in ("ada", "ben"):
        (folder / student / "result.json").unlink()
    with pytest.raises(UserError):
        Server(folder)
