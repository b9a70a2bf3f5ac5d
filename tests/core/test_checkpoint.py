import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tellall import InvalidInput
from tellall.core.checkpoint import Checkpoint

KEY, OTHER = "ab" * 12, "cd" * 12
SECRET = b"s" * 32


def test_what_is_kept_comes_back_and_nothing_else(tmp_path):
    kept = Checkpoint(tmp_path / "work", SECRET)
    kept.keep(KEY, {"right": [1, 2.5, "ü"]})
    assert kept.load(KEY) == {"right": [1, 2.5, "ü"]}
    assert kept.load(OTHER) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"salt": "00", "masked": {}, "seal": 1}',
        '{"salt": "00", "masked": "é", "seal": "é"}',
        r'{"salt": "\ud800", "masked": "\ud800", "seal": "\ud800"}',
        '{"piece": {"right": 2}, "seal": "00"}',
        '{"piece": 3}',
    ],
)
def test_a_file_that_is_not_what_was_written_counts_as_missing(tmp_path, text):
    kept = Checkpoint(tmp_path, SECRET)
    kept.keep(KEY, {"right": 1})
    path = next(tmp_path.glob("*/*.json"))
    path.write_text(text)
    assert kept.load(KEY) is None


def test_a_piece_that_was_changed_counts_as_missing(tmp_path):
    kept = Checkpoint(tmp_path, SECRET)
    kept.keep(KEY, {"right": 1, "rate": 0.1})
    path = next(tmp_path.glob("*/*.json"))
    written = json.loads(path.read_text())
    for name, text in written.items():
        changed = ("1" if text[-1] == "0" else "0").join([text[:-1], ""])
        path.write_text(json.dumps({**written, name: changed}))
        assert kept.load(KEY) is None
    kept.keep(OTHER, {"right": 1})
    moved = next(found for found in tmp_path.glob("*/*.json") if found != path)
    path.write_bytes(moved.read_bytes())
    assert kept.load(KEY) is None


def test_a_link_is_not_followed(tmp_path):
    kept = Checkpoint(tmp_path / "work", SECRET)
    kept.keep(KEY, {"right": 1})
    path = next((tmp_path / "work").glob("*/*.json"))
    moved = path.rename(tmp_path / "elsewhere.json")
    path.symlink_to(moved)
    assert kept.load(KEY) is None
    (tmp_path / "link").symlink_to(tmp_path / "work")
    with pytest.raises(InvalidInput, match="not a link"), Checkpoint.in_folder(tmp_path / "link"):
        pass


@given(key=st.text(max_size=40))
def test_only_hashes_become_paths(tmp_path_factory, key):
    kept = Checkpoint(tmp_path_factory.getbasetemp(), SECRET)
    if len(key) < 16 or not set(key) <= set("0123456789abcdef"):
        with pytest.raises(InvalidInput, match="hash"):
            kept.keep(key, {})


def test_pruning_leaves_what_is_wanted_and_what_is_not_ours(tmp_path):
    kept = Checkpoint(tmp_path, SECRET)
    kept.keep(KEY, {"right": 1})
    kept.keep(OTHER, {"right": 2})
    (tmp_path / "all").mkdir()
    (tmp_path / "all" / "other.json").write_text("{}")
    kept.prune([KEY])
    assert kept.load(KEY) == {"right": 1}
    assert kept.load(OTHER) is None
    assert (tmp_path / "all" / "other.json").exists()


def test_files_are_json_and_masked_anew_each_time(tmp_path):
    found = []
    for _ in range(2):
        Checkpoint(tmp_path, SECRET).keep(KEY, {"right": 1})
        (path,) = tmp_path.rglob("*.json")
        found.append(json.loads(path.read_text()))
    assert all(sorted(one) == ["masked", "salt", "seal"] for one in found)
    assert all(found[0][name] != found[1][name] for name in found[0])
    assert all("right" not in one["masked"] for one in found)


def test_no_two_pieces_and_no_two_purposes_share_a_random_number(tmp_path):
    one, other = Checkpoint(tmp_path, SECRET), Checkpoint(tmp_path, b"t" * 32)
    made = [kept.derive(key, use) for kept in (one, other) for key in (KEY, OTHER) for use in ("a", "b")]
    assert len(set(made)) == 8


def test_no_file_tells_a_key_without_the_folders_own_secret(tmp_path):
    for name in ("one", "other"):
        with Checkpoint.in_folder(tmp_path / name) as kept:
            kept.keep(KEY, {"right": 1})
    one, other = (next((tmp_path / name).rglob("*.json")) for name in ("one", "other"))
    assert one.name != other.name
    assert KEY not in one.read_text()
    assert KEY[2:] not in one.name
    assert (tmp_path / "one" / ".secret").stat().st_mode & 0o777 == 0o600
    with Checkpoint.in_folder(tmp_path / "one") as kept:
        assert kept.load(KEY) == {"right": 1}


def test_a_secret_that_was_not_written_whole_is_drawn_again(tmp_path):
    with Checkpoint.in_folder(tmp_path) as kept:
        kept.keep(KEY, {"right": 1})
    (tmp_path / ".secret").write_bytes(b"half")
    with Checkpoint.in_folder(tmp_path) as again:
        assert again.load(KEY) is None
        again.keep(KEY, {"right": 2})
    with Checkpoint.in_folder(tmp_path) as found:
        assert found.load(KEY) == {"right": 2}
