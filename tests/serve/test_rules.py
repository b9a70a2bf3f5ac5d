"""The rules of the site, releases published before, and attackers: opened and chosen in the browser."""

import json
import sys
import tomllib

import pytest

import tellall as ta
from tellall import cli
from tellall.audits import advice
from tellall.audits.plans.policy import Policy
from tellall.core.errors import InvalidInput
from tellall.serve import edits, worker
from tests.report.pages import Tags
from tests.serve.client import Client, files_in
from tests.serve.people import people_csv, planned

POLICY = b"""\
name = "Ward 7 <b>"
limit = 0.02
repeats = 2
not_published = ["Means"]

[cells]
p = 15.0
dominance = { n = 2, share = 0.9 }
threshold = 20
extremes = true

[[attackers]]
name = "journalist"
known = ["sex"]
"""


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> bytes:
    """A release about the same people, as tellall saves it."""
    folder = tmp_path_factory.mktemp("published")
    (folder / "clinic.csv").write_bytes(people_csv())
    people = ta.read(folder / "clinic.csv", secret="ill", public=["age", "sex", "region"])
    ta.publish(people, ta.Marginals(2), ta.Rounding(5)).save(folder / "last.json")
    return (folder / "last.json").read_bytes()


def text_of(page: str) -> str:
    return " ".join(Tags.of(page).text.split())


# the rules of the site


def test_a_policy_holds_for_every_plan_and_makes_audits_void(client):
    planned(client)
    case = client.case()
    before = case.version
    assert client.open("policy.toml", POLICY, "/policy").json()["to"].endswith("/")
    assert "Ward 7 &lt;b&gt;" in client.get("/").text
    assert case.version != before  # what was audited without it is not about this
    _, plan = case.asked
    assert (plan.limit, plan.repeats) == (0.02, 2)
    assert (plan.cells.p, plan.cells.n, plan.cells.threshold, plan.cells.extremes) == (15.0, 2, 20, True)
    assert [one.name for one in plan.attackers] == ["as planned", "journalist"]
    assert (case.plan.limit, len(case.plan.attackers)) == (0.05, 1)  # the text of the plan stays
    page = text_of(client.get(f"{client.here}/plan").text)
    assert "The policy Ward 7 <b> applies too: an advantage of at most 2.0 in 100" in page
    assert "nobody in a cell of numbers known to a rival to within 15 %" in page
    assert "journalist knows sex of everybody by the policy" in page
    assert client.get(f"{client.here}/export/policy.toml").body == POLICY
    client.post("/policy/forget")
    assert case.version == before
    assert client.get(f"{client.here}/export/policy.toml").status == 404


def test_what_the_rules_forbid_fails_and_is_not_mended(client, monkeypatch):
    planned(client)
    client.open("policy.toml", b'not_published = ["Marginals"]\n', "/policy")
    for search in ("find_culprits", "find_remedy"):
        monkeypatch.setattr(advice, search, lambda *_: pytest.fail("looked for a remedy"))
    for measured in ("_look_closer", "_measure"):
        monkeypatch.setattr(worker, measured, lambda *_: pytest.fail("measured another protection"))
    worker.run(client.case())
    assert client.case().audit.verdict.word == "fail"
    assert "does not allow" in client.get(f"{client.here}/verdict").text
    assert client.get(f"{client.here}/fix").status == 200


WRONG_RULES = {
    "not TOML": b"limit = [",
    "another key": b"limits = 0.1\n",
    "an unknown kind": b'not_published = ["Marginal"]\n',
    "not text": b"\xff\xfe\x00",
    "a limit that is none": b"limit = 7\n",
}


@pytest.mark.parametrize("content", WRONG_RULES.values(), ids=WRONG_RULES)
def test_a_policy_that_is_none_changes_nothing(client, tmp_path, content):
    client.open("policy.toml", POLICY, "/policy")
    before = files_in(tmp_path)
    answer = client.open("other.toml", content, "/policy").json()
    assert str(tmp_path) not in answer["error"]
    assert "partial" not in answer["error"]
    assert client.home.rules_text.encode() == POLICY
    assert files_in(tmp_path) == before
    assert "ends in .toml" in client.open("policy.exe", POLICY, "/policy").json()["error"]


# what was published before


def test_a_release_published_before_is_opened_named_and_removed(client, published):
    planned(client)
    case = client.case()
    for name in ("Last year.json", "../../Last year.json"):
        answer = client.open(name, published, f"{client.here}/published").json()
        assert answer["to"].endswith("/plan")
    assert edits.tables_of(case.plan_text, "published") == [
        {"file": "published-1.json", "name": "Last year"},
        {"file": "published-2.json", "name": "Last year (2)"},
    ]
    assert [one.name for one in case.plan.releases] == ["Last year", "Last year (2)", "tables"]
    page = client.get(f"{client.here}/plan").text
    assert text_of(page).count("Last year") >= 2
    assert client.get(f"{client.here}/export/published-1.json").body == published
    assert "equations" in client.get(f"{client.here}/foresight").text
    form = {"version": case.version, "do": "unpublish", "place": 0}
    client.post(f"{client.here}/plan", form)
    assert [one["file"] for one in edits.tables_of(case.plan_text, "published")] == ["published-2.json"]
    assert not (case.folder / "published-1.json").exists()
    assert client.get(f"{client.here}/export/published-1.json").status == 404
    assert "# Words: tellall explain." in case.plan_text  # comments stay


def test_an_audit_with_another_file_of_the_same_name_is_outdated(client, published):
    planned(client)
    client.open("Last year.json", published, f"{client.here}/published")
    case = client.case()
    text, (audited, _) = case.plan_text, case.asked
    case.write("done.json", {"version": audited, "tellall": ta.__version__})
    assert case.current
    client.post(f"{client.here}/plan", {"version": case.version, "do": "unpublish", "place": 0})
    corrected = json.loads(published)
    corrected["values"][0] = 0.0 if corrected["values"][0] else 1.0
    client.open("Last year.json", json.dumps(corrected).encode(), f"{client.here}/published")
    assert case.plan_text == text  # the file has the same name again
    assert not case.current
    assert case.asked[0] == case.version != audited


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[1, 2]", b"a,b\n1,2\n", b'{"document": "release", "schema_version": 1}', b"\xff"],
)
def test_a_release_that_is_none_is_explained_and_leaves_nothing(client, tmp_path, content):
    planned(client)
    before, text = files_in(tmp_path), client.case().plan_text
    answer = client.open("last.json", content, f"{client.here}/published")
    assert answer.status == 200
    assert str(tmp_path) not in answer.json()["error"]
    assert (files_in(tmp_path), client.case().plan_text) == (before, text)


@pytest.mark.parametrize(
    "name", ["case.json", "../x.json", "/etc/passwd", "published-1.json", "people.csv", "published-1.json/.."]
)
def test_a_plan_names_no_file_that_was_not_opened_here(client, name):
    planned(client)
    case = client.case()
    text = case.plan_text.replace("\n[[releases]]", f"\n[[published]]\nfile = '{name}'\n\n[[releases]]", 1)
    with pytest.raises(InvalidInput, match="names only files opened here"):
        case.write_plan(text)


def test_a_body_that_ends_early_leaves_no_release(client, tmp_path, published):
    planned(client)
    before = files_in(tmp_path)
    path = f"/a-token-of-the-tests{client.here}/published"
    headers = [("origin", "http://127.0.0.1:8000"), ("x-name", "last.json")]
    assert client.ask(path, "POST", headers, [published[:50]], cut=True).status == 400
    assert files_in(tmp_path) == before


# attackers


def test_attackers_are_added_and_removed(client):
    planned(client)
    case = client.case()

    def click(**form):
        page = client.post(f"{client.here}/plan", {"version": case.version, **form})
        assert 'role="alert"' not in page.text, text_of(page.text)
        return case.plan.attackers

    first = {"do": "attack", "name": "neighbour", "known": [0, 1], "known_people": "50", "known_secrets": "0"}
    insider, neighbour = click(**first)
    assert (insider.name, insider.knows_all) == ("insider", True)
    assert (neighbour.known, neighbour.known_people) == (("age", "sex"), 0.5)
    third = click(**first | {"known": [], "known_people": "100", "known_secrets": "1"})[2]
    assert (third.name, third.known, third.known_secrets) == ("neighbour (2)", (), 0.01)
    page = text_of(client.get(f"{client.here}/plan").text)
    assert "neighbour knows age, sex of 50 % of the people" in page
    assert [one.name for one in click(do="unattack", place=0)] == ["neighbour", "neighbour (2)"]
    assert [one.name for one in click(do="unattack", place=1)] == ["neighbour"]
    tables = tomllib.loads(case.plan_text)
    assert [one["name"] for one in tables["releases"]] == ["tables"]
    assert "# Words: tellall explain." in case.plan_text


def test_the_columns_known_in_a_plan_become_the_first_attacker(client):
    client.open("clinic.csv", people_csv())
    form = {"secret": 4, "public": [1, 2, 3], "asked": "known", "known": [1, 3]}
    client.post(f"{client.here}/columns", form)
    text = client.case().plan_text.replace('["age", "region"]', '[\n  "age",\n  "region",\n]')
    made = edits.changed(text, {"do": "attack", "known_people": "100", "known_secrets": "0"}, ["0", "1", "2"])
    assert tomllib.loads(made)["attackers"] == [
        {"name": "as planned", "known": ["age", "region"]},
        {"name": "attacker 2"},
    ]
    assert "known" not in tomllib.loads(made)


@pytest.mark.parametrize(
    "form",
    [
        {"do": "attack", "known_people": "0", "known_secrets": "0"},
        {"do": "attack", "known_people": "100", "known_secrets": "100"},
        {"do": "attack", "known_people": "100", "known_secrets": "0", "known": 9},
        {"do": "unattack", "place": 0},
        {"do": "unattack", "place": 7},
        {"do": "unpublish", "place": 0},
    ],
)
def test_a_wrong_attacker_is_explained_and_the_plan_stays(client, form):
    planned(client)
    before = client.case().plan_text
    page = client.post(f"{client.here}/plan", {"version": client.case().version, **form})
    assert 'role="alert"' in page.text
    assert client.case().plan_text == before


def test_attackers_below_the_releases_are_never_lost():
    text = '[[releases]]\nname = "a"\n\n[[attackers]]\nname = "x"\nknown = []\n'
    form = {"do": "attack", "known_people": "100", "known_secrets": "0"}
    with pytest.raises(InvalidInput, match="above the first"):
        edits.changed(text, form)


# the same numbers as on the command line


def test_what_is_audited_is_what_the_command_line_would_audit(client, published, tmp_path):
    planned(client)
    client.open("policy.toml", POLICY, "/policy")
    client.open("last.json", published, f"{client.here}/published")
    for name in ("plan.toml", "policy.toml", "published-1.json"):
        (tmp_path / name).write_bytes(client.get(f"{client.here}/export/{name}").body)
    typed = Policy.read(tmp_path / "policy.toml").under(ta.read_plan(tmp_path / "plan.toml"))
    _, asked = client.case().asked
    assert asked.as_json() == typed.as_json()
    given = [one.given.values.tolist() for one in (asked.releases[0], typed.releases[0])]
    assert given[0] == given[1]


@pytest.mark.slow
def test_the_numbers_with_rules_attackers_and_what_was_published_are_the_command_lines(
    client: Client, published, tmp_path, monkeypatch, capsys
):
    planned(client)
    case = client.case()
    client.open("policy.toml", POLICY, "/policy")
    client.open("last.json", published, f"{client.here}/published")
    form = {"do": "attack", "name": "neighbour", "known": [1], "known_people": "80", "known_secrets": "0"}
    client.post(f"{client.here}/plan", {"version": case.version, **form})
    monkeypatch.setattr(worker, "_explained", lambda people, places, found, *_: found)
    monkeypatch.setattr(worker, "_look_closer", lambda *_: None)
    monkeypatch.setattr(worker, "_measure", lambda *_: None)
    worker.run(case)
    here = tmp_path / "typed"
    here.mkdir()
    for name in ("plan.toml", "policy.toml", "published-1.json"):
        (here / name).write_bytes(client.get(f"{client.here}/export/{name}").body)
    (here / "clinic.csv").write_bytes(people_csv())
    monkeypatch.chdir(here)
    command = ["tellall", "audit", "plan.toml", "--policy", "policy.toml", "--no-remedy", "--quiet"]
    monkeypatch.setattr(sys, "argv", [*command, "--jobs", "1"])
    with pytest.raises(SystemExit):
        cli.main()
    capsys.readouterr()
    typed = json.loads((here / "plan-audit" / "audit.json").read_text())
    assert client.get(f"{client.here}/export/audit.json").json() == typed
    assert [one["name"] for one in typed["attackers"]].count("journalist") == 1
    page = client.post(f"{client.here}/decide", {"decision": "reject", "comment": "no"})
    assert "Rejected" in page.text
    record = tomllib.loads(client.get(f"{client.here}/export/decision.toml").text)
    assert record["policy"]["name"] == "Ward 7 <b>"
