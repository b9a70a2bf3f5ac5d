"""tellall attack on a folder of tables in bands, with a register of more people than the tables count."""


def test_a_register_may_hold_people_whom_the_tables_leave_out(tellall, tmp_path):
    (tmp_path / "register.csv").write_text("age\n" + "".join(f"{age}\n" for age in (20, 21, 40, 45, 70, 71)))
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "tables.toml").write_text('secret = "ill"\n[[tables]]\nfile = "a.csv"\nacross = "ill"\n')
    (folder / "a.csv").write_text("age,no,yes\nunder 30,2,0\n30–59,0,1\n60 and over,0,2\n")  # one is left out
    code, _, err = tellall("attack", "out", "--public", "register.csv", "--secret", "ill")
    assert code == 2
    assert "got 1 of the 2 with age 30–59" in " ".join(err.split())
    code, _, err = tellall("attack", "out", "--public", "register.csv", "--secret", "ill", "--may-include")
    assert code == 0
    assert "4 proved" in err  # both who are under 30 and both who are 60 or over are in the table
