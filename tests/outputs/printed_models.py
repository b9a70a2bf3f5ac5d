"""Models as programs print them, made from fits of statsmodels: R, Stata, SAS, SPSS and regression tables."""

from __future__ import annotations

import re

import numpy as np


def _r_name(name):
    name = re.sub(r"C\((\w+)\)\[T\.([^\]]*)\]", r"\1\2", name)
    name = re.sub(r"(\w+)\[T\.([^\]]*)\]", r"\1\2", name)
    name = re.sub(r"I\((\w+) \*\* (\d)\)", r"I(\1^\2)", name).replace("np.log", "log")
    return "(Intercept)" if name == "Intercept" else name


def _numbers(fit):
    names = list(fit.params.index)
    return (
        names,
        np.asarray(fit.params),
        np.asarray(fit.bse),
        np.asarray(fit.tvalues),
        np.asarray(fit.pvalues),
    )


def _call(fit, kind):
    formula = re.sub(r"C\((\w+)\)", r"\1", fit.model.formula).replace("**", "^").replace("np.log", "log")
    if kind == "linear":
        return f"lm(formula = {formula}, data = df)"
    family = {"logistic": "binomial", "poisson": "poisson", "probit": 'binomial(link = "probit")'}[kind]
    return f"glm(formula = {formula}, family = {family}, data = df)"


def r_summary(fit, kind, digits=5):
    """summary() of lm or glm."""
    names, b, se, t, p = _numbers(fit)
    decimals = max(digits - 1 - int(np.floor(np.log10(np.abs(b).min()))), 0) if digits > 5 else digits
    width = max(len(_r_name(name)) for name in names)
    letter = "t" if kind == "linear" else "z"
    out = ["", "Call:", _call(fit, kind), ""]
    if kind == "linear":
        out += [
            "Residuals:",
            "    Min      1Q  Median      3Q     Max ",
            "-10.123  -3.456   0.123   3.210  11.987 ",
            "",
        ]
    out.append("Coefficients:")
    out.append(" " * width + f" Estimate Std. Error {letter} value Pr(>|{letter}|)    ")
    for name, *row in zip(names, b, se, t, p, strict=True):
        star = (
            "***"
            if row[3] < 1e-3
            else "**"
            if row[3] < 0.01
            else "*"
            if row[3] < 0.05
            else "."
            if row[3] < 0.1
            else ""
        )
        shown = "< 2e-16" if row[3] < 2e-16 else f"{row[3]:.3g}"
        out.append(
            f"{_r_name(name):<{width}} {row[0]:.{decimals}f} {row[1]:.{decimals}f} {row[2]:7.3f} "
            f"{shown:>8} {star:<3}"
        )
    out += ["---", "Signif. codes:  0 ‘***’ 0.001 ‘**’ 0.01 ‘*’ 0.05 ‘.’ 0.1 ‘ ’ 1", ""]
    n, k = int(fit.nobs), len(b)
    if kind == "linear":
        out += [
            f"Residual standard error: {np.sqrt(fit.scale):.4g} on {n - k} degrees of freedom",
            f"Multiple R-squared:  {fit.rsquared:.4f},\tAdjusted R-squared:  {fit.rsquared_adj:.4f} ",
            f"F-statistic: {fit.fvalue:.4g} on {k - 1} and {n - k} DF,  p-value: < 2.2e-16",
        ]
    else:
        out += [
            "(Dispersion parameter for binomial family taken to be 1)",
            "",
            f"    Null deviance: 612.54  on {n - 1}  degrees of freedom",
            f"Residual deviance: 610.68  on {n - k}  degrees of freedom",
            "AIC: 616.68",
            "",
            "Number of Fisher Scoring iterations: 4",
        ]
    return "\n".join([*out, "", ""])


def r_print(fit, kind):
    """print() of lm or glm: names over numbers, a few on each line."""
    names, b, *_ = _numbers(fit)
    cells = [(_r_name(name), f"{value:.6g}") for name, value in zip(names, b, strict=True)]
    width = max(max(len(x), len(y)) for x, y in cells)
    out = ["", "Call:" if kind == "linear" else "Call:  " + _call(fit, kind)]
    out += [_call(fit, kind), ""] if kind == "linear" else [""]
    out.append("Coefficients:")
    each = max(1, 78 // (width + 2))
    for start in range(0, len(cells), each):
        part = cells[start : start + each]
        out.append("  ".join(f"{x:>{width}}" for x, _ in part) + "  ")
        out.append("  ".join(f"{y:>{width}}" for _, y in part) + "  ")
    out.append("")
    if kind != "linear":
        n, k = int(fit.nobs), len(b)
        out.append(f"Degrees of Freedom: {n - 1} Total (i.e. Null);  {n - k} Residual")
        out.append("Null Deviance:\t    612.5 ")
    return "\n".join([*out, ""])


def coeftest(fit, kind):
    """coeftest() of lmtest."""
    names, b, se, t, p = _numbers(fit)
    letter = "t" if kind == "linear" else "z"
    width = max(len(_r_name(name)) for name in names)
    out = [
        "",
        f"{letter} test of coefficients:",
        "",
        " " * width + f"   Estimate Std. Error {letter} value Pr(>|{letter}|)    ",
    ]
    for name, *row in zip(names, b, se, t, p, strict=True):
        out.append(
            f"{_r_name(name):<{width}} {row[0]: .7f}  {row[1]:.7f} {row[2]:8.4f} {row[3]:9.4g} "
            f"{'***' if row[3] < 0.001 else ''}"
        )
    return "\n".join([*out, "---", "Signif. codes:  0 '***' 0.001 '**' 0.01 '*' 0.05 '.' 0.1 ' ' 1", "", ""])


def _stata_number(value):
    digits = 7
    if not np.isfinite(value):
        return "."
    size = int(np.floor(np.log10(abs(value)))) + 1 if value else 0
    text = (
        f"{value:.{max(digits - max(size, 0), 0)}f}"
        if abs(value) < 1
        else f"{value:.{max(digits - size, 0)}f}"
    )
    return text.replace("0.", ".", 1) if abs(value) < 1 else text


def stata(fit, kind, exponentiated=False, robust=False):
    """regress, logit, logistic, poisson, probit."""
    names, b, se, t, p = _numbers(fit)
    response = fit.model.endog_names
    n = int(fit.nobs)
    command = {"linear": "regress", "logistic": "logistic" if exponentiated else "logit"}.get(kind, kind)
    title = {
        "linear": "Linear regression",
        "logistic": "Logistic regression",
        "poisson": "Poisson regression",
        "probit": "Probit regression",
    }[kind]
    terms, out = [], []
    if kind == "linear" and not robust:
        out += [
            f"      Source |       SS           df       MS      Number of obs   = {n:>9,}",
            "-------------+----------------------------------   F(4, 495)       =    117.26",
            "       Model |  10563.9265         4  2640.98162   Prob > F        =    0.0000",
            "    Residual |  11148.6987       495  22.5226236   R-squared       =    0.4865",
            "       Total |  21712.6252       499  43.5122749   Root MSE        =    4.7458",
            "",
        ]
    else:
        out += [f"{title:<48}Number of obs     = {n:>10,}", " " * 48 + "Prob > chi2       =     0.0000", ""]
    head = "Odds ratio" if exponentiated else "Coefficient"
    out.append("-" * 78)
    if robust:
        out.append("             |               Robust")
    letter = "t" if kind == "linear" else "z"
    errors = "std. err." if robust else "Std. err."
    tail = f"      {letter}    P>|{letter}|     [95% conf. interval]"
    out.append(f"{response[:12]:>12} | {head}  {errors}{tail}")
    out.append("-" * 13 + "+" + "-" * 64)
    order = [k for k, name in enumerate(names) if name != "Intercept"] + [
        k for k, name in enumerate(names) if name == "Intercept"
    ]
    open_factor = None
    for k in order:
        name = "_cons" if names[k] == "Intercept" else names[k]
        found = re.fullmatch(r"(?:C\()?(\w+)\)?\[T\.([^\]]*)\]", name)
        crossed = re.fullmatch(r"(?:C\()?(\w+)\)?\[T\.([^\]]*)\]:(\w+)", name)
        if found is not None:
            if open_factor != found[1]:
                out += ["             |", f"{found[1]:>12} |"]
                open_factor = found[1]
            label = f"{found[2]:>11} "
        elif crossed is not None:
            if open_factor != crossed[0]:
                out += ["             |", f"{crossed[1] + '#c.' + crossed[3]:>12} |"]
                open_factor = crossed[0]
            label = f"{crossed[2]:>11} "
        else:
            if open_factor is not None:
                out.append("             |")
                open_factor = None
            label = f"{name:>12}"
        value = np.exp(b[k]) if exponentiated else b[k]
        error = se[k] * value if exponentiated else se[k]
        low, high = b[k] - 1.96 * se[k], b[k] + 1.96 * se[k]
        ends = (np.exp(low), np.exp(high)) if exponentiated else (low, high)
        out.append(
            f"{label} | {_stata_number(value):>10}  {_stata_number(error):>9}  {t[k]:7.2f}   {p[k]:.3f}    "
            f"{_stata_number(ends[0]):>9}   {_stata_number(ends[1]):>9}"
        )
        terms.append(name)
    out.append("-" * 78)
    options = ", vce(robust)" if robust else ""
    return "\n".join([f". {command} {response} ...{options}", "", *out, "", ""])


def _side(fits, names_of, stars=True, decimals=3, below="se"):
    """Rows of a regression table: a name, then a cell for each model."""
    names = list(dict.fromkeys(name for fit in fits for name in fit.params.index))
    names = [name for name in names if name != "Intercept"] + ["Intercept"]
    rows = []
    for name in names:
        upper, lower = [], []
        for fit in fits:
            if name in fit.params.index:
                p = fit.pvalues[name]
                star = ("***" if p < 0.01 else "**" if p < 0.05 else "*" if p < 0.1 else "") if stars else ""
                upper.append(f"{fit.params[name]:.{decimals}f}{star}")
                lower.append(
                    f"({fit.bse[name]:.{decimals}f})" if below == "se" else f"({fit.tvalues[name]:.2f})"
                )
            else:
                upper.append("")
                lower.append("")
        rows += [[names_of(name), *upper], ["", *lower]]
    return rows


def modelsummary(fits, decimals=3):
    """Rows as modelsummary makes them."""
    heads = ["", *(f"({k + 1})" for k in range(len(fits)))]
    counts = ["Num.Obs.", *(str(int(fit.nobs)) for fit in fits)]
    return [
        heads,
        *_side(fits, _r_name, decimals=decimals),
        counts,
        ["R2", *("0.123" for _ in fits)],
        ["AIC", *("2981.2" for _ in fits)],
    ]


def markdown(rows):
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:], ""])


def html(rows):
    cells = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{cells}</table>"


def latex(rows):
    body = " \\\\\n".join(
        " & ".join(
            cell.replace("_", "\\_").replace("-", "$-$") if k else cell.replace("_", "\\_")
            for k, cell in enumerate(row)
        )
        for row in rows
    )
    body = re.sub(r"(\*+)", r"$^{\1}$", body)
    start = f"\\begin{{table}}\\begin{{tabular}}{{l{'c' * (len(rows[0]) - 1)}}}"
    return f"{start}\n\\hline\n{body} \\\\\n\\hline\n\\end{{tabular}}\\end{{table}}\n"


def stargazer(fits, decimals=3):
    """Text as stargazer prints it."""
    name_of = lambda name: "Constant" if name == "Intercept" else _r_name(name)  # noqa: E731
    rows = _side(fits, name_of, decimals=decimals)
    first = max(len(row[0]) for row in rows) + 2
    width = 16
    total = first + width * len(fits)
    line = lambda row: f"{row[0]:<{first}}" + "".join(f"{cell:^{width}}" for cell in row[1:])  # noqa: E731
    response = fits[0].model.endog_names
    out = [
        "",
        "=" * total,
        " " * first + f"{'Dependent variable:':^{width * len(fits)}}",
        " " * first + "-" * (total - first),
    ]
    out += [" " * first + f"{response:^{width * len(fits)}}"]
    if len(fits) > 1:
        out.append(" " * first + "".join(f"{f'({k + 1})':^{width}}" for k in range(len(fits))))
    out.append("-" * total)
    for upper, lower in zip(rows[::2], rows[1::2], strict=True):
        out += [line(upper), line(lower), " " * total]
    out += [
        "-" * total,
        line(["Observations", *(f"{int(fit.nobs):,}" for fit in fits)]),
        line(["R2", *("0.487" for _ in fits)]),
        "=" * total,
    ]
    return "\n".join([*out, f"{'Note:':<{first}}{'*p<0.1; **p<0.05; ***p<0.01':>{total - first}}", ""])


def esttab(fits, decimals=5):
    """Text as esttab prints it, t statistics below."""
    name_of = lambda name: "_cons" if name == "Intercept" else _r_name(name)  # noqa: E731
    rows = _side(fits, name_of, decimals=decimals, below="t")
    line = lambda row: f"{row[0]:<16}" + "".join(f"{cell:>16}" for cell in row[1:])  # noqa: E731
    total = 16 * (1 + len(fits))
    out = [
        "",
        "-" * total,
        line(["", *(f"({k + 1})   " for k in range(len(fits)))]),
        line(["", *(f"{fit.model.endog_names}   " for fit in fits)]),
        "-" * total,
    ]
    for upper, lower in zip(rows[::2], rows[1::2], strict=True):
        out += [
            line([upper[0], *(f"{cell:<12}".rjust(16) for cell in upper[1:])]),
            line([lower[0], *(f"{cell:>13}".ljust(16) for cell in lower[1:])]),
            "",
        ]
    out += [
        "-" * total,
        line(["N", *(str(int(fit.nobs)) for fit in fits)]),
        "-" * total,
        "t statistics in parentheses",
        "* p<0.05, ** p<0.01, *** p<0.001",
        "",
    ]
    return "\n".join(out)


def broom(fit):
    """tidy(): a line of names and a line for each term."""
    names, *numbers = _numbers(fit)
    lines = ["term,estimate,std.error,statistic,p.value"]
    lines += [
        ",".join([f'"{_r_name(name)}"', *(repr(float(x)) for x in row)])
        for name, *row in zip(names, *numbers, strict=True)
    ]
    return "\n".join(lines) + "\n"


def sas_reg(fit, kind):
    """PROC REG."""
    names, b, se, t, p = _numbers(fit)
    out = [
        "                              The REG Procedure",
        "                                Model: MODEL1",
        f"                          Dependent Variable: {fit.model.endog_names}",
        "",
        f"                  Number of Observations Read        {int(fit.nobs)}",
        f"                  Number of Observations Used        {int(fit.nobs)}",
        "",
        "                           Parameter Estimates",
        "",
        "                        Parameter       Standard",
        "   Variable     DF       Estimate          Error    t Value    Pr > |t|",
        "",
    ]
    for name, *row in zip(names, b, se, t, p, strict=True):
        shown = "<.0001" if row[3] < 1e-4 else f"{row[3]:.4f}"
        out.append(
            f"   {_r_name(name).strip('()'):<12} 1    {row[0]:11.5f}    {row[1]:11.5f}    {row[2]:7.2f}"
            f"      {shown}"
        )
    return "\n".join([*out, "", ""])


def spss(fit, kind):
    """The table of coefficients, exported as CSV."""
    names, b, se, t, p = _numbers(fit)
    lines = ["Coefficients", ",B,Std. Error,t,Sig."]
    for name, *row in zip(names, b, se, t, p, strict=True):
        lines.append(
            ",".join(["(Constant)" if name == "Intercept" else name, *(f"{number:.3f}" for number in row)])
        )
    return "\n".join([*lines, f"a. Dependent Variable: {fit.model.endog_names}", ""])
