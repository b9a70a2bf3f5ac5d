import gzip
import json
import re
import subprocess
import sys

import numpy as np
import pytest

import tellall as ta
from tellall import cli
from tellall.core.records import read
from tellall.people.attributes import chunks
from tellall.people.readers import ParquetColumns
from tellall.report.trace_page import TracingPage, render
from tellall.tracing.read_inputs import read_tracing_files
from tellall.tracing.release_limit import describe_limit
from tests.conftest import first_fast
from tests.report.pages import Tags, refuses_the_world


@pytest.fixture
def tables(tmp_path):
    """Ten members and ten others as CSV files, 40 reference people, 1,200 bits each."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, 1200)
    people = (rng.random((60, p.size)) < p).astype(int)
    names = [f"q{j}" for j in range(p.size)]

    def write(name, rows, ids=None):
        head = names if ids is None else ["id", *names]
        lines = [",".join(head)]
        for i, row in enumerate(rows):
            cells = [str(value) for value in row]
            lines.append(",".join(cells if ids is None else [ids[i], *cells]))
        (tmp_path / name).write_text("\n".join(lines) + "\n")

    write("targets.csv", people[:20], [f"person{i}" for i in range(20)])
    write("reference.csv", people[20:])
    means = people[:10].mean(axis=0)
    (tmp_path / "means.csv").write_text(
        "name,mean\n" + "".join(f"{n},{m}\n" for n, m in zip(names, means, strict=True)) + "gone,0.5\n"
    )
    (tmp_path / "members.txt").write_text("\n".join(f"person{i}" for i in range(10)) + "\n")
    return tmp_path


def files(folder, release="means.csv", targets="targets.csv", reference="reference.csv"):
    return [
        "--release",
        str(folder / release),
        "--targets",
        str(folder / targets),
        "--reference",
        str(folder / reference),
    ]


def call(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["tellall", "trace", *arguments])
    with pytest.raises(SystemExit) as left:
        cli.main()
    return left.value.code


def test_tables_are_traced_and_json_stands_alone(tables, capsys, monkeypatch):
    arguments = [*files(tables), "--members", str(tables / "members.txt"), "--delta", "0.1", "--reveal"]
    out = tables / "out.json"
    assert call(monkeypatch, *arguments, "--json", "-o", str(out)) == 0
    printed = capsys.readouterr().out
    assert out.read_text() == printed
    assert "person" not in re.sub("people|person's", "", printed)
    document = json.loads(printed)
    secret = tables / "out.SECRET.json"
    assert secret.stat().st_mode & 0o077 == 0
    said = {row["name"]: row["member"] for row in json.loads(secret.read_text())["targets"]}
    assert all(said[f"person{i}"] for i in range(10))
    assert document["attributes"] == 1200
    assert document["risk"]["traced"] == 10
    assert document["risk"]["auc"]["value"] == 1.0
    assert any("1,200 of 1,201" in note for note in document["notes"])


def test_the_page_says_how_to_repeat_it_by_the_names_of_files_alone(tables, capsys, monkeypatch):
    members, folder = str(tables / "members.txt"), tables / "out"
    arguments = [*files(tables), "--members", members, "--attack", "single", "--delta", "0.1"]
    assert call(monkeypatch, *arguments, "-o", str(folder), "--quiet", "--seed", "3") == 0
    wanted = (
        "tellall trace --release means.csv --targets targets.csv --reference reference.csv --attack single "
        "--threshold empirical --delta 0.1 --members members.txt --seed 3"
    )
    assert json.loads((folder / "trace.json").read_text())["command"] == wanted
    page = (folder / "report.html").read_text()
    assert wanted in page
    assert str(tables) not in page


@pytest.mark.parametrize(("own", "code"), [(40, 0), (3, 3)])
def test_targets_who_are_mostly_in_the_reference_leave_with_3(tables, own, code, capsys, monkeypatch):
    lines = (tables / "reference.csv").read_text().splitlines()
    others = np.random.default_rng(5).integers(0, 2, (own, len(lines[0].split(","))))
    strangers = [",".join(map(str, row)) for row in others]
    (tables / "same.csv").write_text("\n".join([*lines[:21], *strangers]) + "\n")
    # the strangers' bits are fair coins, which the reference people's are not
    assert call(monkeypatch, *files(tables, targets="same.csv"), "--anyway") == code
    out = " ".join(capsys.readouterr().out.split())
    assert out.startswith(
        "Inconclusive. 20 of 23 targets are also reference people" if code else "Not traced."
    )
    assert "20 of the targets are also reference people" in out


def test_a_reference_of_another_population_is_refused_unless_told_otherwise(tables, capsys, monkeypatch):
    lines = (tables / "reference.csv").read_text().splitlines()
    rng = np.random.default_rng(6)
    drifted = np.clip(np.array([line.split(",") for line in lines[1:]], dtype=float).mean(axis=0), 0.02, 0.98)
    drifted = rng.beta(19 * drifted, 19 * (1 - drifted))  # drift of 0.05
    rows = [",".join(map(str, row)) for row in (rng.random((40, drifted.size)) < drifted).astype(int)]
    (tables / "foreign.csv").write_text("\n".join([lines[0], *rows]) + "\n")
    folder = tables / "out"
    arguments = [*files(tables, reference="foreign.csv"), "--people", "10", "-o", str(folder)]
    assert call(monkeypatch, *arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert "probably another population" in said.err
    assert "--anyway" in said.err
    assert not folder.exists()
    assert call(monkeypatch, *arguments, "--anyway", "--json") == 3
    document = json.loads(capsys.readouterr().out)
    assert document["command"].endswith("--anyway --seed 0")
    assert document["verdict"]["word"] == "inconclusive"
    assert document["exchangeability"]["status"] == "different"
    assert document["exchangeability"]["anyway"] is True
    assert document["exchangeability"]["targets"]["ratio"] > 1.5
    page = (folder / "report.html").read_text()
    assert "probably another population" in page
    assert "It was traced all the same." in page
    fine = [*files(tables), "--people", "10", "--json"]
    assert call(monkeypatch, *fine) == 0
    assert json.loads(capsys.readouterr().out)["exchangeability"]["status"] == "alike"


def test_declared_noise_is_no_other_population(tables, capsys, monkeypatch):
    lines = (tables / "means.csv").read_text().splitlines()
    rng = np.random.default_rng(7)
    noisy = [f"{line.split(',')[0]},{float(line.split(',')[1]) + rng.normal(0, 0.3)}" for line in lines[1:]]
    (tables / "noisy.csv").write_text("\n".join([lines[0], *noisy]) + "\n")
    arguments = [*files(tables, "noisy.csv"), "--people", "10"]
    assert call(monkeypatch, *arguments) == 2
    assert "Noise that is not declared" in capsys.readouterr().err
    assert call(monkeypatch, *arguments, "--noise", "0.3", "--json") == 0
    assert "--noise 0.3" in json.loads(capsys.readouterr().out)["command"]
    assert call(monkeypatch, *arguments, "--noise", "0.3", "--round", "0.01", "--quiet") == 0


def test_too_few_reference_people_leave_with_3(tables, capsys, monkeypatch):
    assert call(monkeypatch, *files(tables), "--delta", "0.001") == 3
    assert capsys.readouterr().out.startswith("Inconclusive. 40 reference people are too few")


@pytest.mark.parametrize("delta", ["1e-300", "5e-324", "1e-6"])
def test_a_tiny_rate_is_written_short(tables, delta, capsys, monkeypatch):
    folder = str(tables / "out")
    assert call(monkeypatch, *files(tables), "--delta", delta, "-o", folder, "--people", "10") == 3
    out = capsys.readouterr().out
    assert not re.search(r"\d{8}", out)
    assert "it takes" in out


def test_parquet_tables_are_read_a_few_columns_at_a_time(tables, capsys, monkeypatch):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for name in ("targets", "reference"):
        pandas.read_csv(tables / f"{name}.csv").to_parquet(tables / f"{name}.parquet")
    assert call(monkeypatch, *files(tables), "--json") == 0
    whole = json.loads(capsys.readouterr().out)
    asked = []
    read = ParquetColumns.read
    monkeypatch.setattr(
        ParquetColumns, "read", lambda self, names: asked.append(len(names)) or read(self, names)
    )
    monkeypatch.setattr(chunks, "_BYTES", 8 * 2 * 40 * 100)
    arguments = files(tables, targets="targets.parquet", reference="reference.parquet")
    assert call(monkeypatch, *arguments, "--json") == 0
    again = json.loads(capsys.readouterr().out)
    assert again.pop("command") != whole.pop("command")
    read_as_text = [note for note in whole["notes"] if "was read as text in UTF-8" in note]
    assert len(read_as_text) == 2  # targets and reference
    assert [note for note in whole.pop("notes") if note not in read_as_text] == again.pop("notes")
    assert again == whole
    scored = [count for count in asked if count > 1]
    assert len(scored) > 20  # chunks of 100 of the 1,200 columns, targets and reference
    broken = tables / "broken.parquet"
    broken.write_bytes(b"PAR1 nothing")
    assert call(monkeypatch, *files(tables, targets="broken.parquet")) == 2
    assert "a readable parquet file" in capsys.readouterr().err


def test_the_terminal_lists_the_targets_if_asked(tables, capsys, monkeypatch):
    monkeypatch.chdir(tables)
    arguments = [*files(tables), "--attack", "likelihood-ratio", "--people", "10"]
    assert call(monkeypatch, *arguments) == 0
    out = capsys.readouterr().out
    assert "said to be in the data" in out
    assert "person3" not in out
    assert call(monkeypatch, *arguments, "--reveal") == 0
    assert "person3" in capsys.readouterr().out
    assert (tables / "means-people.SECRET.json").is_file()
    assert call(monkeypatch, *files(tables), "--quiet") == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (["--attack", "guess"], "attack must be"),
        (["--coding", "signs"], "must be -1, 1"),
        (["--delta", "2"], "delta must be"),
        (["--out", "/no/where.json"], "--out must be"),
        (["--members", "/no/where.txt"], "--members must be a file that exists"),
        (["--targets", "x.vcf"], "--reference must be of the same kind"),
        (["--release", "x.afreq"], "--release must be a table of names and means"),
        (["--targets", "nothing.csv"], "path must be a file that exists"),
    ],
)
def test_bad_input_is_one_line(tables, change, says, capsys, monkeypatch):
    assert call(monkeypatch, *files(tables), *change) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1
    assert says in captured.err


@pytest.mark.parametrize("known", [True, False])
def test_a_folder_gets_a_page_that_names_nobody(tables, known, capsys, monkeypatch):
    folder = tables / "out"
    arguments = [*files(tables), "--people", "10", "--delta", "0.1", "-o", str(folder), "--json"]
    if known:
        arguments += ["--members", str(tables / "members.txt")]
    assert call(monkeypatch, *arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "trace.json"]
    assert json.loads((folder / "trace.json").read_text()) == document
    page = (folder / "report.html").read_text()
    assert render(read(TracingPage, document, what="trace")) == page
    assert not re.search(r"person\d", page + json.dumps(document))
    refuses_the_world(Tags.of(page))
    titles = [figure["title"] for figure in document["figures"]]
    assert titles[-2:] == ["Power against the number of attributes", "Scores"]
    assert ("How well the attack tells members and others apart" in titles) == known
    labels = {one["label"] for one in document["figures"][-1]["series"]}
    assert labels == {"targets (20)", "reference people (40)"}
    assert document["verdict"]["word"] == "traced"
    assert "threshold" not in (document["risk"] or {"roc": {}})["roc"]


def test_genomes_are_traced_from_plink_files(tmp_path):
    bed_reader = pytest.importorskip("bed_reader")
    rng = np.random.default_rng(1)
    frequency = rng.uniform(0.05, 0.5, 3000)
    calls = (rng.random((80, 3000, 2)) < frequency[:, None]).sum(axis=2).astype(np.int8)
    calls[rng.random(calls.shape) < 0.01] = -127
    names = [f"rs{j}" for j in range(3000)]

    def write(name, rows, people, counted, other):
        properties = {
            "iid": people,
            "sid": names,
            "chromosome": ["1"] * 3000,
            "bp_position": list(range(1, 3001)),
            "allele_1": [counted] * 3000,
            "allele_2": [other] * 3000,
        }
        bed_reader.to_bed(tmp_path / name, rows, properties=properties)

    write("t.bed", calls[:40], [f"p{i}" for i in range(40)], "A", "G")
    turned = np.where(calls[40:] < 0, calls[40:], 2 - calls[40:])
    write("ref.bed", turned, [f"r{i}" for i in range(40)], "G", "A")
    published = np.where(calls[:20] < 0, 0, calls[:20]).sum(axis=0) / (2 * (calls[:20] >= 0).sum(axis=0))
    (tmp_path / "f.afreq").write_text(
        "#CHROM\tID\tREF\tALT\tALT_FREQS\tOBS_CT\n"
        + "".join(f"1\t{n}\tG\tA\t{f}\t40\n" for n, f in zip(names, published, strict=True))
    )
    command = [sys.executable, "-m", "tellall", "trace", *files(tmp_path, "f.afreq", "t.bed", "ref.bed")]
    command += ["--json", "--reveal", "-o", str(tmp_path / "page")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    document = json.loads(result.stdout)
    assert document["people"] == 20
    targets = json.loads((tmp_path / "page" / "people.SECRET.json").read_text())["targets"]
    assert all(row["member"] for row in targets[:20])
    assert sum(row["member"] for row in targets[20:]) <= 5
    assert [figure["title"] for figure in document["figures"]] == [
        "Power against the number of attributes",
        "Scores",
    ]
    assert "members named, simulated" in {one["label"] for one in document["figures"][0]["series"]}
    assert any("turned" in note for note in document["notes"])
    alignment = ta.genomics.align(
        ta.genomics.read_frequencies(tmp_path / "f.afreq"),
        ta.genomics.read_genotypes(tmp_path / "t.bed"),
        ta.genomics.read_genotypes(tmp_path / "ref.bed"),
    )
    np.testing.assert_array_equal(alignment.reference.chunk(0, 3000).copies(), np.maximum(calls[40:], -1))


@pytest.mark.parametrize(("power", "told"), [([0.01, 0.04, 0.2], True), ([0.01, 0.06, 0.2], False)])
def test_a_limit_set_by_few_trials_says_so(power, told):
    """The second count is refused for its interval alone, or for its power."""
    found = ta.ReleaseLimit(
        10, np.array([10, 20, 30]), np.array(power), np.zeros(3), np.array([0.03, 0.08, 0.3]), True
    )
    sentence = describe_limit(found, 100, power=0.05, rate=0.01, trials=200)
    assert sentence.startswith("About 10 means")
    assert ("with only 200 simulated releases" in sentence) == told


def test_the_limit_of_a_release(tables, capsys, monkeypatch):
    def limit(*arguments):
        monkeypatch.setattr(sys, "argv", ["tellall", "limit", str(tables / "means.csv"), *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
        return left.value.code, capsys.readouterr()

    small = ["--most", "1000", "--trials", "1000"]
    code, said = limit("-n", "100", *small)
    assert code == 0
    assert "means can be published with at most 5 in 100 of the 100 people" in said.out
    assert "with only 1,000 simulated releases; more trials may allow more." in said.out
    found = {}
    for name, options in (("exact", []), ("noisy", ["--noise", "0.2"]), ("rounded", ["--round", "0.5"])):
        code, said = limit("-n", "100", "--json", *small, *options)
        document = json.loads(said.out)
        found[name] = document["attributes"]
        assert document["people"] == 100
        assert len(document["curve"]["power"]) == len(document["curve"]["attributes"])
        assert document["all_tried_within_limit"] == (max(document["curve"]["high"]) <= 0.05)
    assert 0 < found["exact"] < found["noisy"]
    assert found["exact"] < found["rounded"]
    for options, says in (
        ([], "--people must be given"),
        (["-n", "100", "--power", "0.001"], "power must be from the false-positive rate"),
        (["-n", "100", "--subsample", "2"], "fraction must be"),
        (["-n", "100", "--attack", "guess"], "attack must be one of"),
    ):
        code, said = limit(*options)
        assert code == 2
        assert says in said.err
        assert len(said.err.splitlines()) == 1


def test_members_who_are_no_target_are_told(tables, capsys, monkeypatch):
    (tables / "more.txt").write_text("person0\nperson1\nnobody\nno one\n")
    assert call(monkeypatch, *files(tables), "--members", str(tables / "more.txt"), "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert "2 of the 4 names in --members are not targets." in document["notes"]
    assert document["risk"]["members"] == 2
    (tables / "none.txt").write_text("nobody\n")
    (tables / "latin.txt").write_bytes(b"person0\nJos\xe9\n")
    for name, says in (("none.txt", "none of the 1 is a target"), ("latin.txt", "must be text in UTF-8")):
        assert call(monkeypatch, *files(tables), "--members", str(tables / name)) == 2
        said = capsys.readouterr().err
        assert says in said
        assert len(said.splitlines()) == 1


@pytest.mark.parametrize("word", first_fast(["NA", "", ".", "-9", "NaN", "nan", "-1"], 3))
@pytest.mark.parametrize("whole", [True, False])
def test_words_for_a_missing_call(tables, word, whole, capsys, monkeypatch):
    """Also where the table is read by the slower reader, for a value that is no whole number."""
    assert call(monkeypatch, *files(tables), "--json", "--coding", "genotypes") == 0
    before = json.loads(capsys.readouterr().out)
    lines = (tables / "targets.csv").read_text().splitlines()
    lines[0] += ",other"
    lines[1:] = [f"{line},{1 if whole else 0.5}" for line in lines[1:]]
    for row in (3, 7):
        cells = lines[row].split(",")
        cells[5] = word if row == 3 else ""
        lines[row] = ",".join(cells)
    (tables / "targets.csv").write_text("\n".join(lines) + "\n")
    if not whole:
        monkeypatch.setattr("tellall.people.attributes.tables.read_wide", not_whole)
    assert call(monkeypatch, *files(tables), "--json", "--coding", "genotypes") == 0
    after = json.loads(capsys.readouterr().out)
    assert after["attributes"] == before["attributes"]
    assert after["traced"] == before["traced"]


def not_whole(*_):
    from tellall.people.attributes.wide_csv import NotPlain

    raise NotPlain


@pytest.mark.parametrize("kind", ["bits", "genotypes"])
def test_a_saved_release_of_means_is_traced(tables, kind, capsys, monkeypatch):
    rng = np.random.default_rng(2)
    p = rng.uniform(0.2, 0.8, 900)
    people = rng.binomial(1 if kind == "bits" else 2, p, (80, p.size))
    names = [f"s{j}" for j in range(p.size)]
    release = ta.publish(ta.Dataset.from_arrays(people[:20], names=names), ta.Means(), ta.Rounding(0.05))
    release.save(tables / "release.json")
    for name, rows in (("t.csv", people[:40, ::-1]), ("r.csv", people[40:])):
        head = names[::-1] if name == "t.csv" else names
        lines = [",".join(head), *(",".join(map(str, row)) for row in rows)]
        (tables / name).write_text("\n".join(lines) + "\n")
    arguments = files(tables, "release.json", "t.csv", "r.csv")
    assert call(monkeypatch, *arguments, "--coding", kind, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["people"] == 20
    expected = ta.trace(
        release, people[:40], people[40:], attack="pool", threshold="empirical", coding=kind, n=20
    )
    assert document["traced"] == expected.traced >= 18
    monkeypatch.setattr(
        sys,
        "argv",
        ["tellall", "limit", str(tables / "release.json"), "--coding", kind, "--trials", "200", "--json"],
    )
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code == 0
    assert json.loads(capsys.readouterr().out)["people"] == 20
    table = ta.Dataset.from_arrays(people[:20, :3], secret=people[:20, 3] > 0)
    ta.publish(table, ta.Marginals(1)).save(tables / "table.json")
    assert call(monkeypatch, *files(tables, "table.json")) == 2
    assert "--release must be a release of Means()" in capsys.readouterr().err


@pytest.mark.parametrize("scale", ["fractions", "counts"])
def test_a_subsample_is_read_on_its_own_scale(tables, scale):
    """Sums of a sample are scaled up to everybody, so everybody divides them."""
    people = np.random.default_rng(4).integers(0, 2, (100, 6))
    names = [f"q{j}" for j in range(6)]
    inside = ta.Dataset.from_arrays(people, names=names)
    release = ta.publish(inside, ta.Means(scale=scale), ta.Subsample(0.25), rng=1)
    release.save(tables / "release.json")
    expected = ta.publish(inside, ta.Means(), ta.Subsample(0.25), rng=1).values
    for told in (None, 25, 100):
        paths = [tables / name for name in ("release.json", "targets.csv", "reference.csv")]
        given = read_tracing_files(*paths, people=told)
        np.testing.assert_allclose(given.means, expected)
        assert given.n == 25
        public = ta.Dataset.from_arrays(people[:5], names=names)
        one, two = (ta.trace(r, public, people[5:], coding="bits", n=told) for r in (release, expected))
        np.testing.assert_allclose(one.scores, two.scores)


def test_tables_of_means_are_read_alike_by_trace_and_limit(tables, capsys, monkeypatch):
    text = (tables / "means.csv").read_text()
    tabbed = text.replace(",", "\t").replace("gone\t0.5", "gone\tNA")
    (tables / "m.tsv").write_text(tabbed)
    for name, content in (("m.csv.gz", text), ("m.tsv.gz", tabbed)):
        with gzip.open(tables / name, "wt") as file:
            file.write(content)
    (tables / "cut.csv.gz").write_bytes((tables / "m.csv.gz").read_bytes()[:-400])
    (tables / "empty.csv").write_text("")
    (tables / "header.csv").write_text("name,mean\n")

    def limit(name):
        small = ["-n", "100", "--most", "500", "--trials", "200", "--json"]
        monkeypatch.setattr(sys, "argv", ["tellall", "limit", str(tables / name), *small])
        with pytest.raises(SystemExit) as left:
            cli.main()
        return left.value.code, capsys.readouterr()

    published = {}
    for name in ("means.csv", "m.tsv", "m.csv.gz", "m.tsv.gz"):
        assert call(monkeypatch, *files(tables, name), "--json") == 0
        assert json.loads(capsys.readouterr().out)["attributes"] == 1200
        code, said = limit(name)
        assert code == 0
        published[name] = json.loads(said.out)["published"]
    assert published == {"means.csv": 1201, "m.tsv": 1200, "m.csv.gz": 1201, "m.tsv.gz": 1200}
    for name, says in (
        ("cut.csv.gz", "whole and sound"),
        ("empty.csv", "a table with means in it"),
        ("header.csv", "a table with means in it"),
    ):
        assert call(monkeypatch, *files(tables, name)) == 2
        said = capsys.readouterr().err
        assert said.startswith("tellall: --release must be")
        assert says in said
        assert len(said.splitlines()) == 1
        code, said = limit(name)
        assert code == 2
        assert says in said.err


@pytest.mark.parametrize("named", [True, False])
def test_frequencies_of_the_other_allele_are_inconclusive(tmp_path, named, capsys, monkeypatch):
    bed_reader = pytest.importorskip("bed_reader")
    rng = np.random.default_rng(3)
    frequency = rng.uniform(0.02, 0.2, 256)
    calls = rng.binomial(2, frequency, (80, 256)).astype(np.int8)
    names = [f"rs{j}" for j in range(256)]
    for name, rows in (("t.bed", calls[:40]), ("ref.bed", calls[40:])):
        properties = {
            "iid": [f"{name}{i}" for i in range(40)],
            "sid": names,
            "allele_1": ["A"] * 256,
            "allele_2": ["G"] * 256,
        }
        bed_reader.to_bed(tmp_path / name, rows, properties=properties)
    published = calls[:20].mean(axis=0) / 2
    published = published if named else 1 - published
    (tmp_path / "f.afreq").write_text(
        "#CHROM\tID\tREF\tALT\tALT_FREQS\tOBS_CT\n"
        + "".join(f"1\t{n}\tG\tA\t{f}\t40\n" for n, f in zip(names, published, strict=True))
    )
    code = call(monkeypatch, *files(tmp_path, "f.afreq", "t.bed", "ref.bed"), "--json")
    document = json.loads(capsys.readouterr().out)
    if named:
        assert code == 0
        assert document["verdict"]["word"] != "inconclusive"
    else:
        assert code == 3
        assert document["verdict"]["word"] == "inconclusive"
        assert "check which allele they count" in document["verdict"]["sentence"]


def test_missing_calls_are_told(tables, capsys, monkeypatch):
    lines = (tables / "targets.csv").read_text().splitlines()
    lines[12] = "person11" + "," * 1200
    (tables / "targets.csv").write_text("\n".join(lines) + "\n")
    assert call(monkeypatch, *files(tables), "--delta", "0.1", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["missing_calls"] == {"targets": 0.05, "reference": 0.0}
    assert document["targets_without_calls"] == 1
    assert "The targets lack 5 % of their calls." in document["notes"]
    assert "19 targets" in document["verdict"]["sentence"]
    (tables / "targets.csv").write_text("\n".join([lines[0], lines[12]]) + "\n")
    assert call(monkeypatch, *files(tables), "--delta", "0.1") == 2
    assert "targets must be people with calls; got 1 without a single one." in capsys.readouterr().err
