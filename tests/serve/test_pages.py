"""From a file to an exported decision, request by request."""

import json
import re
import sys
import tomllib
from dataclasses import replace

import pytest

from tellall import cli
from tellall.core.curator_key import CuratorKey
from tellall.serve import edits, views
from tests.conftest import first_fast
from tests.report.pages import NASTY, Tags
from tests.serve.client import files_in
from tests.serve.people import people_csv, planned


def only_our_scripts(page: str) -> None:
    """Two scripts and two style sheets of the server; nothing within the page that could run."""
    tags = Tags.of(page)
    scripts = [attributes for tag, attributes in tags.seen if tag == "script"]
    assert [one["src"].rsplit("/", 1)[-1] for one in scripts] == ["htmx.min.js", "page.js"]
    for tag, attributes in tags.seen:
        assert tag not in ("iframe", "object", "embed", "base", "img")
        assert not any(name.startswith(("on", "hx-on")) for name in attributes), attributes
        assert "style" not in attributes
        for name in ("src", "href", "action", "hx-get", "hx-post"):
            assert (attributes.get(name) or "/").startswith(("/", "#")), attributes
            assert not (attributes.get(name) or "").startswith("//")


def test_the_first_page_offers_to_open_a_file(client):
    page = client.get("/")
    assert page.status == 200
    assert "Choose a file" in page.text
    only_our_scripts(page.text)


def test_columns_are_told_by_kind_with_warnings(client):
    client.open("clinic.csv", people_csv())
    page = client.get(f"{client.here}/columns").text
    text = Tags.of(page).text
    assert "clinic.csv was read as text in UTF-8" in text
    assert "4 groups of fewer than 10 people, the smallest of 5: “E”, “N”, “S”, …" in text
    assert "two values" in text
    assert re.search(r'name="secret" value="4"[^>]* checked', page)


def test_a_key_is_left_out_and_a_plan_is_drafted(client):
    client.open("clinic.csv", people_csv(30))
    assert "left out: a different whole number for everybody" in client.get(f"{client.here}/columns").text
    page = client.post(f"{client.here}/columns", {"secret": 4, "public": [1, 2, 3]})
    assert "every 2-way table" in page.text
    assert "hide counts below 10" in page.text
    plan = tomllib.loads(client.case().plan_text)
    assert (plan["secret"], plan["public"], plan["data"]) == ("ill", ["age", "sex", "region"], "clinic.csv")


def test_what_an_outsider_knows_is_written_into_the_plan(client):
    client.open("clinic.csv", people_csv())
    form = {"secret": 4, "public": [1, 2, 3], "asked": "known"}
    client.post(f"{client.here}/columns", {**form, "known": [1, 2, 3, 4]})
    assert "known" not in tomllib.loads(client.case().plan_text)  # all of them, as by default
    client.post(f"{client.here}/columns", {**form, "known": [1, 3]})
    assert tomllib.loads(client.case().plan_text)["known"] == ["age", "region"]
    assert client.case().plan.attackers[0].known == ("age", "region")
    assert "Nothing can be foreseen for these" in client.get(f"{client.here}/foresight").text
    before = client.case().plan_text
    assert "known must be one column or more" in client.post(f"{client.here}/columns", form).text
    assert client.case().plan_text == before


def test_areas_are_chosen_with_the_columns(client):
    client.open("clinic.csv", people_csv())
    client.post(f"{client.here}/columns", {"secret": 4, "public": [1, 2], "by": 3, "known": [1, 2, 3]})
    plan = tomllib.loads(client.case().plan_text)
    assert plan["by"] == "region"
    assert "known" not in plan
    assert "foresees and attacks each area separately" in client.get(f"{client.here}/foresight").text


@pytest.mark.parametrize("form", [{}, {"secret": 9}, {"secret": "x"}, {"secret": 4}])
def test_a_wrong_choice_is_explained_and_writes_nothing(client, form):
    client.open("clinic.csv", people_csv())
    page = client.post(f"{client.here}/columns", form)
    assert 'role="alert"' in page.text
    assert client.case().plan_text == ""


def test_every_click_on_a_card_writes_the_plan_that_the_command_line_reads(client):
    planned(client)
    case = client.case()

    def click(**form):
        page = client.post(f"{client.here}/plan", {"version": case.version, **form})
        assert 'role="alert"' not in page.text, Tags.of(page.text).text
        return case.plan

    assert "round to 3" in client.get(f"{client.here}/plan").text
    plan = click(do="protect", release=0, kind="Suppression", number=4)
    assert [type(one).__name__ for one in plan.releases[0].protections] == ["Rounding", "Suppression"]
    plan = click(do="unprotect", release=0, place=0)
    assert plan.releases[0].label == "Suppression(below=4)"
    plan = click(do="add", ways=2)
    assert [one.name for one in plan.releases] == ["tables", "tables (2)"]
    plan = click(do="drop", release=0)
    assert [one.name for one in plan.releases] == ["tables (2)"]
    plan = click(limit="0.1", exposed_limit="3", seed="7", repeats="2")
    assert (plan.limit, plan.exposed_limit, plan.seed, plan.repeats) == (0.1, 3, 7, 2)
    plan = click(text=case.plan_text.replace("limit = 0.1", "limit = 0.2", 1))
    assert plan.limit == 0.2
    assert "# The columns an attacker may know" in case.plan_text  # comments stay


@pytest.mark.parametrize(
    "form",
    [
        {"do": "protect", "release": 0, "kind": "Gaussian", "number": "-1"},
        {"do": "protect", "release": 0, "kind": "os.system", "number": "1"},
        {"do": "protect", "release": 5, "kind": "Rounding", "number": "5"},
        {"do": "unprotect", "release": 0, "place": 7},
        {"do": "drop", "release": 0},
        {"do": "explode", "release": 0},
        {"limit": "much"},
        {"limit": "nan"},
        {"seed": "1e400"},
        {"text": "not = [toml"},
        {"text": "secret = 'ill'\ndata = '/etc/passwd'\nreleases = []"},
        {"text": "secret = 'ill'\ndata = '../../x.csv'\nreleases = []"},
        {
            "text": "secret = 'ill'\ndata = 'x.csv'\nreleases = [{ statistic = { kind = 'Means' } }]\n"
            "[[published]]\nfile = 'people.csv'\n"
        },
        {
            "text": "secret = 'ill'\ndata = 'x.csv'\n[[releases]]\n"
            "statistic = { kind = 'Marginals', ways = 2 }\n"
            "protect = [{ kind = 'CellKey', table = '/etc/keys.csv' }]\n"
        },
    ],
)
def test_a_wrong_change_is_explained_and_the_plan_stays(client, form):
    planned(client)
    before = client.case().plan_text
    page = client.post(f"{client.here}/plan", {"version": client.case().version, **form})
    assert page.status == 200
    assert 'role="alert"' in page.text
    assert client.case().plan_text == before


def test_of_two_tabs_the_second_is_told(client):
    planned(client)
    seen = client.case().version
    client.post(f"{client.here}/plan", {"version": seen, "seed": "5"})
    page = client.post(f"{client.here}/plan", {"version": seen, "seed": "6"})
    assert "changed in another tab" in page.text
    assert client.case().plan.seed == 5


def test_a_release_of_an_unknown_kind_has_a_card_that_says_so(client):
    planned(client)
    case = client.case()
    entries = edits.entries_of(case.plan_text)
    unknown = {"statistic": {"kind": "Quantiles"}, "protect": []}
    case.write_plan(edits.with_entries(case.plan_text, [unknown, *entries]))
    text = Tags.of(client.get(f"{client.here}/plan").text).text
    assert "Not checked: tellall has no statistic of kind 'Quantiles'" in text
    assert "every 2-way table" in text


def test_a_disk_that_is_full_leaves_nothing(client, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tellall.serve.cases.files.write_json", full)
    answer = client.open("clinic.csv", people_csv())
    assert answer.status == 500
    assert client.log == ["refused POST: a fault in tellall itself (OSError)"]
    assert files_in(tmp_path) == ["home"]


def test_tables_below_the_releases_are_never_lost():
    text = "secret = 's'\n[[releases]]\nstatistic = { kind = 'Means' }\n\n[bins]\nage = 3\n"
    with pytest.raises(ValueError, match="releases last"):
        edits.with_entries(text, edits.entries_of(text))


def test_foresight_comes_before_any_attack(client):
    planned(client)
    page = Tags.of(client.get(f"{client.here}/foresight").text).text
    assert re.search(r"\d+ equations about 20 people", page)
    assert "guessed right" in page
    assert client.case().audit is None


@pytest.mark.parametrize("quick", first_fast([True, False]))
def test_the_served_numbers_are_those_of_the_command_line(audited, tmp_path, monkeypatch, capsys, quick):
    case = audited.case()
    (tmp_path / "clinic.csv").write_bytes(people_csv())
    (tmp_path / "plan.toml").write_text(audited.get(f"{audited.here}/export/plan.toml").text)
    monkeypatch.chdir(tmp_path)
    options = ["--quiet", "--jobs", "1", *(["--no-remedy"] if quick else [])]
    monkeypatch.setattr(sys, "argv", ["tellall", "audit", "plan.toml", *options])
    with pytest.raises(SystemExit):
        cli.main()
    capsys.readouterr()
    typed = json.loads((tmp_path / "plan-audit" / "audit.json").read_text())
    served = audited.get(f"{audited.here}/export/audit.json").json()
    assert served == case.audit.as_json()
    later = {name: served[name] for name in ("remedy", "culprits")} if quick else {}
    assert served == typed | later
    page = Tags.of(audited.get(f"{audited.here}/verdict").text).text
    assert typed["verdict"]["sentence"] in page
    found = typed["findings"][0]["summary"]
    assert f"{100 * found['accuracy']:.1f}" in page
    assert f"{100 * found['advantage']:+.1f}" in page


def test_every_attack_was_told_as_it_was_done(audited):
    state = audited.case().read("run.json")
    assert (state["state"], state["error"]) == ("done", "")
    assert [one["word"] for one in state["attacks"]] == [audited.case().audit.verdict.word]


def test_every_page_of_an_audit_is_whole(audited):
    for step in ("columns", "plan", "verdict", "fix", "decide"):
        page = audited.get(f"{audited.here}/{step}")
        assert page.status == 200, step
        only_our_scripts(page.text)
        tags = Tags.of(page.text)
        ids = [attributes["id"] for _, attributes in tags.seen if attributes.get("id")]
        assert len(ids) == len(set(ids)), step
        if step not in ("columns", "decide"):
            assert 'kind = "Marginals"' in tags.text  # the plan is always shown


def test_the_slider_moves_advantage_people_and_withheld_together(audited):
    places = audited.case().read("fix.json")["releases"][0]["points"]
    assert len(places) == 4
    losses = [one["loss"] for one in places]
    assert losses == sorted(losses)
    for at, one in enumerate(places):
        text = Tags.of(audited.get(f"{audited.here}/point?release=0&at={at}").text).text
        assert f"{100 * one['withheld']:.1f}" in text
        assert one["words"] in text
    planned_at = audited.case().read("fix.json")["releases"][0]["planned"]
    assert places[planned_at]["advantage"] == audited.case().audit.findings[0].summary.advantage
    for query in ("release=0&at=99", "release=4&at=0", "release=0&at=-1", "at=0", "release=../x&at=0"):
        assert audited.get(f"{audited.here}/point?{query}").status == 404


def test_a_place_of_the_slider_is_applied_to_the_plan(audited, client, monkeypatch):
    planned(client)
    case, started = client.case(), []
    for name in ("audit", "fix.json", "done.json"):
        source = audited.case().folder / name
        copy(source, case.folder / name)
    monkeypatch.setattr(client.runs, "start", started.append)
    places = case.read("fix.json")["releases"][0]["points"]
    at = next(index for index, one in enumerate(places) if one["label"] == "Suppression(below=5)")
    client.post(f"{client.here}/apply", {"version": case.version, "what": "point", "release": 0, "at": at})
    assert case.plan.releases[0].label == "Suppression(below=5)"
    assert [one.id for one in started] == [case.id]
    assert not case.current


def copy(source, target):
    if source.is_dir():
        target.mkdir(exist_ok=True)
        for one in source.iterdir():
            copy(one, target / one.name)
    else:
        target.write_bytes(source.read_bytes())


def test_the_remedy_is_applied_to_the_plan(audited, client, monkeypatch):
    planned(client)
    case = client.case()
    for name in ("audit", "done.json"):
        copy(audited.case().folder / name, case.folder / name)
    monkeypatch.setattr(client.runs, "start", lambda case: None)
    document = case.audit.as_json()
    entries = [{"name": "tables", "statistic": {"kind": "Marginals", "ways": 2}, "protect": []}]
    cost = {"loss": 1.0, "withheld": 0.0, "error": 1.0, "instead": 0}
    change = {"words": "noise", "releases": ["tables"], **cost, "passed": 1, "draws": 1}
    entries[0]["protect"] = [{"kind": "Gaussian", "std": 4.5}]
    document["remedy"] |= {"found": True, "entries": entries, "change": change, "sentence": "Add noise."}
    case.write("audit/audit.json", document)
    assert "Make this change and audit again" in client.get(f"{client.here}/fix").text
    client.post(f"{client.here}/apply", {"version": case.version, "what": "remedy"})
    assert case.plan.releases[0].label == "Gaussian(std=4.5)"


def test_a_decision_is_written_exported_and_bound_to_what_it_is_about(audited, client):
    planned(client)
    case = client.case()
    for name in ("audit", "done.json"):
        copy(audited.case().folder / name, case.folder / name)
    comment = f"Fine. {NASTY}\x1b[31m"
    page = client.post(f"{client.here}/decide", {"decision": "accept", "comment": comment, "by": "Ada"})
    assert "Accepted by Ada" in Tags.of(page.text).text
    only_our_scripts(page.text)
    decision = tomllib.loads(client.get(f"{client.here}/export/decision.toml").text)
    served = client.get(f"{client.here}/export/audit.json").body
    assert decision["sha256"] == {}  # a hash of audit or plan would confirm a guess at somebody
    assert decision["verdict"]["word"] == json.loads(served)["verdict"]["word"]
    assert (decision["decision"]["name"], decision["decision"]["decision"]) == ("Ada", "publish")
    assert decision["decision"]["reasons"].startswith("Fine. ")
    assert not {"people_file", "files"} & set(decision)
    report = client.get(f"{client.here}/export/report.html")
    assert report.headers["content-disposition"] == 'attachment; filename="report.html"'
    assert "Accepted by Ada" in report.text
    assert "<script" not in report.text
    opened = client.get(f"{client.here}/export/report.html?open=1")
    assert opened.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert "content-disposition" not in opened.headers
    case.write_plan(edits.with_number(case.plan_text, "seed", "9"))
    assert case.decision is None
    assert client.get(f"{client.here}/export/decision.toml").status == 404


def test_with_a_key_a_decision_knows_its_file_of_people_again(audited, client, tmp_path):
    planned(client)
    case, key = client.case(), CuratorKey.create(tmp_path / "curator.key")
    for name in ("audit", "done.json"):
        copy(audited.case().folder / name, case.folder / name)
    keyed = replace(client, key=key)
    keyed.post(f"{client.here}/decide", {"decision": "accept", "by": "Ada"})
    record = tmp_path / "decision.toml"
    record.write_bytes(keyed.get(f"{client.here}/export/decision.toml").body)
    kept = tomllib.loads(record.read_text())["people_file"]
    people = tmp_path / "people.csv"
    people.write_bytes(case.data.read_bytes())
    assert key.agrees(people, kept)
    people.write_bytes(people.read_bytes() + b"x")
    assert not key.agrees(people, kept)
    checks = tomllib.loads(record.read_text())["files"]
    assert set(checks) == {"plan.toml", "audit.json"}
    assert key.agrees(case.folder / "plan.toml", checks["plan.toml"])
    assert key.agrees(case.folder / "audit" / "audit.json", checks["audit.json"])
    assert not key.agrees(case.folder / "plan.toml", checks["audit.json"])


def test_what_leaves_is_the_same_for_two_audits_that_differ_in_one_secret(audited, client, monkeypatch):
    """Their audits differ in an exact count that the record does not show; a hash would tell which it was."""
    monkeypatch.setattr("tellall.serve.views.now", lambda: "2026-01-01 00:00 UTC")
    planned(client)
    case, left = client.case(), []
    for name in ("audit", "done.json"):
        copy(audited.case().folder / name, case.folder / name)
    document = case.audit.as_json()
    for distinct in (17, 18):
        document["data"]["distinct_public_rows"] = distinct
        case.write("audit/audit.json", document)
        client.post(f"{client.here}/decide", {"decision": "reject", "by": "Ada"})
        texts = [client.get(f"{client.here}/export/{name}").body for name in ("decision.toml", "report.html")]
        texts[1] = texts[1].replace(f"{distinct} of 20".encode(), b"some of 20")  # which the page does show
        left.append(texts)
    assert left[0] == left[1]
    told = case.read("decision.json")["audit_sha256"][:12].encode()
    assert not any(told in text for text in left[1])


def test_an_audit_of_another_version_has_to_be_made_again(audited, client):
    planned(client)
    case = client.case()
    for name in ("audit", "done.json"):
        copy(audited.case().folder / name, case.folder / name)
    assert case.current
    case.write("done.json", case.read("done.json") | {"tellall": "0.0.1"})
    assert not case.current
    assert "Run the audit" in client.get(f"{client.here}/plan").text
    old = audited.case().audit
    assert views.compared(replace(old, tellall="0.0.1"), old) == []
    assert len(views.compared(old, old)) == 1


@pytest.mark.parametrize("form", [{}, {"decision": "maybe"}, {"decision": "accept", "comment": "x" * 5000}])
def test_a_decision_that_is_none_is_not_written(audited, form):
    page = audited.post(f"{audited.here}/decide", form)
    assert 'role="alert"' in page.text
    assert audited.case().decision is None


def test_what_is_not_there_yet_leads_back(client):
    client.open("clinic.csv", people_csv())
    for step in ("plan", "verdict", "fix", "decide"):
        page = client.ask(f"/a-token-of-the-tests{client.here}/{step}")
        assert page.status == 303, step
    for name in ("report.html", "audit.json", "plan.toml", "people.csv", "case.json"):
        assert client.get(f"{client.here}/export/{name}").status == 404


def test_removing_a_case_removes_everything(client, tmp_path):
    planned(client)
    client.post(f"{client.here}/forget")
    assert files_in(tmp_path) == ["home"]


HOSTILE = {
    "ragged": b"a,b\n1,2\n1,2,3\n",
    "empty": b"",
    "a header alone": b"a,b\n",
    "not text": b"\x00\x01\x02\x03" * 50,
    "no encoding": b"a,b\n\x81,2\n",
    "half of wide text": "a,b\n1,2\n".encode("utf-16")[:-1],
    "an open quote": b'a,b\n"1,2\n',
    "no name": b"a,,b\n1,2,3\n",
    "numbers for names": b"1.5,2.5\n1,2\n",
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
def test_a_file_that_cannot_be_read_is_explained_and_leaves_nothing(client, tmp_path, content):
    answer = client.open("Clinic 7.csv", content)
    assert answer.status == 200
    assert "Clinic 7.csv" in answer.json()["error"]
    assert str(tmp_path) not in answer.json()["error"]
    assert "people.csv" not in answer.json()["error"]
    assert files_in(tmp_path) == ["home"]


@pytest.mark.parametrize("name", ["x.exe", "x", "", "x.csv.sh", "people.toml"])
def test_a_file_of_another_kind_is_refused(client, tmp_path, name):
    assert "must be one that ends in" in client.open(name, b"a,b\n1,2\n").json()["error"]
    assert files_in(tmp_path) == ["home"]


def test_names_and_values_from_a_file_come_out_as_text(client):
    head = f'"{NASTY.replace(chr(34), "")}","=HYPERLINK(1)","a\x1b[31m\u202eb",secret\n'
    rows = "".join(
        f"{'x' * 100_000 if i == 3 else NASTY[:9]},{{{{7*7}}}},{i % 2},{'ny'[i % 2]}\n" for i in range(20)
    )
    client.open(f"{NASTY}.csv", (head + rows).encode())
    for page in (
        client.get("/").text,
        client.get(f"{client.here}/columns").text,
        client.post(f"{client.here}/columns", {"secret": 3, "public": [0, 1, 2]}).text,
        client.get(f"{client.here}/foresight").text,
    ):
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "\x1b" not in page
        assert "\u202e" not in page
        assert "x" * 1000 not in page
    only_our_scripts(client.get(f"{client.here}/plan").text)
