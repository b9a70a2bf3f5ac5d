"""Tables in HTML, Markdown, LaTeX and Word: merged cells, captions, marks and notes."""

from __future__ import annotations

import docx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tellall.outputs.html_tables import pages_of_html
from tellall.outputs.latex_tables import pages_of_latex, plain_of
from tellall.outputs.layout import tables_on
from tellall.outputs.read import read_outputs


def _texts(table):
    return [[("^" if cell.continued else "") + cell.text for cell in line] for line in table.cells]


@pytest.fixture(scope="module")
def frames():
    rng = np.random.default_rng(1)
    d = pd.DataFrame({name: rng.choice(["a", "b"], 200) for name in ("sex", "region", "ill", "drug")})
    d["pay"] = rng.normal(30, 5, 200)
    return {
        "one": pd.crosstab(d.sex, d.ill),
        "two": pd.crosstab([d.sex, d.region], [d.ill, d.drug], margins=True),
        "means": d.pivot_table(
            index=["sex", "region"], columns="ill", values="pay", aggfunc=["mean", "count"]
        ),
    }


@pytest.mark.parametrize("name", ["one", "two", "means"])
@pytest.mark.parametrize("ending", ["html", "tex", "styled.tex", "styled.html"])
def test_pandas_tables_are_found_whole(frames, tmp_path, name, ending):
    frame = frames[name].round(1)
    path = tmp_path / f"t.{ending}"
    if ending == "styled.tex":
        text = frame.style.format(precision=1).to_latex(hrules=True, caption="Ill & well", multicol_align="c")
    elif ending == "styled.html":
        text = frame.style.format(precision=1).to_html(caption="Ill & well")
    else:
        text = frame.to_html() if ending == "html" else frame.to_latex()
    path.write_text(text)
    (table,) = read_outputs(path).tables
    down, across = frame.index.nlevels, frame.columns.nlevels
    assert table.title == (("Ill & well",) if "styled" in ending else ())
    assert table.heads == across + 1
    body = table.cells[table.heads :]
    assert np.allclose([[cell.number for cell in line[down:]] for line in body], frame.to_numpy(float))
    labels = [[cell.text for cell in line[:down]] for line in body]
    assert labels == [list(key if down > 1 else (key,)) for key in frame.index]
    heads = [[cell.text for cell in line[down:]] for line in table.cells[:across]]
    assert list(zip(*heads, strict=True)) == [key if across > 1 else (key,) for key in frame.columns]


def test_zeros_that_fill_numbers_up_are_no_digits(tmp_path):
    (tmp_path / "t.tex").write_text(pd.DataFrame({"mean": [30.4, 31.3]}, index=["f", "m"]).to_latex())
    (table,) = read_outputs(tmp_path).tables
    assert table.cells[1][1].text == "30.400000"
    assert table.cells[1][1].step == 0.1


LATEX = r"""
\begin{table}[!htbp] \centering
  \caption{Counts of \emph{ill} people} \label{t} % a remark
\begin{tabular}{@{\extracolsep{5pt}}llcc}
\\[-1.8ex]\hline
\hline \\[-1.8ex]
 & & \multicolumn{2}{c}{Ill} \\
\cline{3-4}
Region & Sex & no & yes \\
\hline \\[-1.8ex]
\multirow{2}{*}{North} & f & 1{,}204 & 12 (3.4\%) \\
 & m & 1\,100 & $<$5 \\ \addlinespace
\multirow{2}{*}{S\"ud} & f & 45 & 12\textsuperscript{a} \\
 & m & $-$3 & 0.31$^{***}$ \\
\hline
\multicolumn{4}{l}{\textit{Note:} a: provisional} \\
\end{tabular}
\end{table}
"""


def test_a_table_in_latex_typed_by_hand(tmp_path):
    (tmp_path / "t.tex").write_text(LATEX)
    (table,) = read_outputs(tmp_path).tables
    assert table.title == ("Counts of ill people",)
    assert table.notes == ("Note: a: provisional",)
    assert (table.heads, str(table.source)) == (2, "t.tex, table 1")
    assert _texts(table) == [
        ["", "", "Ill", "^Ill"],
        ["Region", "Sex", "no", "yes"],
        ["North", "f", "1,204", "12 (3.4%)"],
        ["^North", "m", "1 100", "<5"],
        ["Süd", "f", "45", "12[a]"],
        ["^Süd", "m", "-3", "0.31***"],
    ]
    assert (table.cells[4][3].number, table.cells[4][3].mark) == (12, "a")
    assert table.cells[5][2].number == -3


def test_tables_in_markdown(tmp_path):
    text = (
        "# Report\n\nSome text.\n\n**Table 1: ill by sex**\n\n|sex | no| yes|\n|:---|--:|---:|\n"
        "|f | 12| **3**|\n|m \\| d | 1.5 | <5|\n\n*Source: ours*\n"
        "\nsex | n\n---|---\nf | 12\n\n<table><tr><td>a<td>b<tr><td>c<td>1</table>"
    )
    (tmp_path / "t.md").write_text(text)
    first, second, third = read_outputs(tmp_path).tables
    assert first.title == ("Table 1: ill by sex",)
    assert first.notes == ("Source: ours",)
    assert str(first.source) == "t.md, lines 7 to 10"
    assert _texts(first) == [["sex", "no", "yes"], ["f", "12", "3"], ["m | d", "1.5", "<5"]]
    assert (second.title, _texts(second)) == ((), [["sex", "n"], ["f", "12"]])
    assert str(third.source) == "t.md, table 1"


def test_a_table_in_html_typed_by_hand(tmp_path):
    (tmp_path / "t.html").write_text(
        "<h2>Title</h2><div><table><tr><th rowspan=2>Sex<th colspan=2>Ill</tr><tr><th>no<th>yes</tr>"
        "<tr><td>f<td>1&nbsp;204<td>12<sup>a</sup></tr><tr><td colspan=3></td></tr>"
        "<tr><td>m<td>3<br><td>*</table>"
        "<p>a) new</p></div><script>document.write('<table>')</script>"
    )
    (table,) = read_outputs(tmp_path).tables
    assert (table.heads, table.title, table.notes) == (2, ("Title",), ("a) new",))
    assert _texts(table) == [
        ["Sex", "Ill", "^Ill"],
        ["^Sex", "no", "yes"],
        ["f", "1 204", "12[a]"],
        ["m", "3", "*"],
    ]
    assert [cell.number for cell in table.cells[2]] == [None, 1204, 12]


def test_tables_in_word(tmp_path):
    document = docx.Document()
    document.add_heading("Report")
    document.add_paragraph("Table 3. Ill by sex and region")
    lines = [
        ["", "ill", "", ""],
        ["region", "f", "m", "all"],
        ["north", "12", "13", "25"],
        ["", "<5", "7 a)", "*"],
    ]
    table = document.add_table(rows=4, cols=4)
    for i, line in enumerate(lines):
        for j, text in enumerate(line):
            table.cell(i, j).text = text
    table.cell(0, 1).merge(table.cell(0, 3))
    table.cell(2, 0).merge(table.cell(3, 0))
    document.add_paragraph("* hidden")
    document.add_paragraph("The end.")
    document.save(tmp_path / "t.docx")
    (found,) = read_outputs(tmp_path).tables
    assert found.title == ("Table 3. Ill by sex and region",)
    assert found.notes == ("* hidden",)
    assert _texts(found) == [
        ["", "ill", "^ill", "^ill"],
        ["region", "f", "m", "all"],
        ["north", "12", "13", "25"],
        ["^north", "<5", "7 a)", "*"],
    ]


def test_damaged_documents_are_named(tmp_path):
    (tmp_path / "a.docx").write_bytes(b"PK\x03\x04 broken")
    (tmp_path / "b.html").write_text("<p>no table</p>")
    (tmp_path / "c.html").write_text("<table><tr><td colspan=2000 rowspan=2000>" + "x<tr>" * 2000)
    found = read_outputs(tmp_path)
    reasons = {one.name: one.reason for one in found.skipped}
    assert "document" in reasons["a.docx"]
    assert "no table" in reasons["b.html"]
    assert "rows of people" in reasons["c.html"]


@settings(deadline=None)
@given(st.text("ab1&\\{}$%~^_[]*-\n", max_size=80))
def test_no_latex_breaks_the_reader(text):
    plain_of(text)
    for page in pages_of_latex(rf"\begin{{tabular}}{{ll}}a & b \\ {text} & 1 \\ x & 2\end{{tabular}}", "t"):
        tables_on(page)


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "<table>",
                "<tr>",
                "<td>",
                "<td colspan=3>",
                "<th rowspan=2>",
                "</table>",
                "1",
                "a",
                "<sup>",
                "&#0;",
                "<br>",
            ]
        ),
        max_size=40,
    )
)
def test_no_html_breaks_the_reader(pieces):
    for page in pages_of_html(f"<p>{''.join(pieces)}", "t"):
        tables_on(page)
