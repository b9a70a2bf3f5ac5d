"""The curator's key: its file is private, and a check tells nothing to whoever lacks it."""

import hashlib
import hmac
import os
import stat

import pytest

from tellall.core.curator_key import CuratorKey
from tellall.core.errors import InvalidInput

PEOPLE = "age,ill\n31,0\n44,1\n"


@pytest.fixture
def key(tmp_path):
    return CuratorKey.create(tmp_path / "curator.key")


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(PEOPLE)
    return path


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a_new_key_is_its_owners_alone_whatever_the_umask(tmp_path, mask):
    before = os.umask(mask)
    try:
        made = CuratorKey.create(tmp_path / "curator.key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "curator.key").stat().st_mode) == 0o600
    assert CuratorKey.read(tmp_path / "curator.key") == made
    assert made.secret.hex() not in repr(made)
    assert [path.name for path in tmp_path.iterdir()] == ["curator.key"]


def test_a_key_is_never_replaced(tmp_path, key):
    with pytest.raises(InvalidInput, match="key must be a new file"):
        CuratorKey.create(tmp_path / "curator.key")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match="key must be a new file"):
        CuratorKey.create(tmp_path / "link")
    assert CuratorKey.read(tmp_path / "curator.key") == key


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o644, 0o666])
def test_a_key_that_others_can_reach_is_refused(tmp_path, key, mode):
    (tmp_path / "curator.key").chmod(mode)
    with pytest.raises(InvalidInput, match=f"mode {mode:04o}") as refused:
        CuratorKey.read(tmp_path / "curator.key")
    assert key.secret.hex() not in str(refused.value)


@pytest.mark.parametrize("text", ["", "ab", "z" * 64, "ab" * 33, "ab" * 32 + "\n\n", "é" * 64, "\0" * 64])
def test_what_is_not_a_key_is_refused_and_not_quoted(tmp_path, text):
    (tmp_path / "other.key").write_text(text)
    (tmp_path / "other.key").chmod(0o600)
    with pytest.raises(
        InvalidInput, match="64 hexadecimal digits in one line; got something else"
    ) as refused:
        CuratorKey.read(tmp_path / "other.key")
    assert len(text) < 3 or text not in str(refused.value)


def test_links_folders_pipes_and_nothing_are_no_keys(tmp_path, key):
    (tmp_path / "link").symlink_to("curator.key")
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("link", "pipe", ".", "missing"):
        with pytest.raises(InvalidInput, match="key must be a file"):
            CuratorKey.read(tmp_path / name)


def test_a_check_knows_its_file_again_and_no_other(tmp_path, key, people):
    check = key.check(people)
    assert key.agrees(people, check)
    copy = tmp_path / "elsewhere.csv"
    copy.write_text(PEOPLE)
    assert key.agrees(copy, check)
    for changed in (PEOPLE.replace("44,1", "44,0"), PEOPLE[:-1], PEOPLE + "52,1\n", ""):
        copy.write_text(changed)
        assert not key.agrees(copy, check)


def test_checks_share_nothing_whether_files_are_equal_or_differ_by_one_person(key, people):
    checks = [key.check(people), key.check(people)]
    people.write_text(PEOPLE + "52,1\n")
    checks.append(key.check(people))
    values = [value for check in checks for value in check.values()]
    assert len(set(values)) == len(values) == 9
    assert {len(value) for value in values} == {64}


def test_without_the_key_no_guess_is_confirmed(key, people):
    """Somebody who knows the whole file but one answer tries both, with everything that the record holds."""
    check = key.check(people)
    salt = bytes.fromhex(check["salt"])
    for guess in (PEOPLE, PEOPLE.replace("44,1", "44,0")):
        text = guess.encode()
        tried = {hashlib.sha256(part).hexdigest() for part in (text, salt + text, salt + b"\1" + text)}
        known = (salt, check["salt"].encode(), bytes.fromhex(check["key"]), check["key"].encode(), b"")
        tried |= {
            hmac.new(one, part, "sha256").hexdigest()
            for one in known
            for part in (text, salt + text, salt + b"\1" + text)
        }
        assert not tried & set(check.values())


def test_another_key_is_told_from_another_file(tmp_path, key, people):
    other = CuratorKey.create(tmp_path / "other.key")
    with pytest.raises(InvalidInput, match="This key is not the one that the check was made with"):
        other.agrees(people, key.check(people))


def test_the_marks_of_key_and_file_cannot_stand_in_for_each_other(key, people):
    people.write_text("")
    check = key.check(people)
    assert check["key"] != check["people"]


@pytest.mark.parametrize(
    "bent",
    [{}, {"salt": 1}, {"salt": ""}, {"key": "ab"}, {"people": None}, {"salt": "é" * 64}, {"people": ["ab"]}],
)
def test_a_bent_check_is_refused(key, people, bent):
    check = {**key.check(people), **bent} if bent else {}
    with pytest.raises(InvalidInput, match="check must be salt, key, people"):
        key.agrees(people, check)


def test_a_file_that_cannot_be_read_is_named(tmp_path, key):
    with pytest.raises(InvalidInput, match="cannot be read: No such file"):
        key.check(tmp_path / "missing.csv")
