"""Words by which programs print models: headers of coefficients, kinds of model, numbers of people."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = [
    "KINDS",
    "NOT_REFITTED",
    "about_people",
    "columns_of_cells",
    "columns_of_text",
    "is_rule",
    "is_statistic",
    "kind_in",
    "link_in",
]

KINDS = ("linear", "logistic", "poisson", "probit")
NOT_REFITTED = (
    "weighted",
    "mixed",
    "negative binomial",
    "Cox",
    "multinomial",
    "ordered",
    "tobit",
    "quantile",
    "instruments",
)

# what a header says about the column below it, the most telling first
_HEADS = (
    (
        "error",
        r"(?:robust |clustered |linearized )?st(?:d|andard)\.?[ _]?err(?:or)?s?\b\.?|\bs\.e\.(?:\([^)]*\))?"
        r"|\bse\b(?:\(\w+\))?|std\.error|(?<![\w.] )(?<![\w.])error\b",
    ),
    (
        "skip",
        r"standardi[sz]ed(?: coefficients?)?(?: beta)?|std\. ?beta|\bbeta\b|wald(?: chi-?square)?"
        r"|\bdf\b|chi-?square",
    ),
    (
        "estimate_exp",
        r"odds ratios?\b(?: estimates?)?|exp\(b\)|exp\(coef\)|\birr\b|incidence[- ]rate ratio|\bor\b",
    ),
    ("p", r"p ?> ?\|?[tz]\|?|pr ?\(? ?> ?\|?[tz]\|?\)?|pr > chisq|p[.\- _]?values?\b|\bsig\b\.?|\bp\b"),
    (
        "ends",
        r"\[ ?0?\.025 +0?\.975 ?\]|\[?\d\d% conf\. ?interval\]?|\d\d(?:\.\d)? ?% (?:ci"
        r"|confidence (?:limits|interval))",
    ),
    ("low", r"\[ ?0?\.025\b|conf\.low|\b2\.5 ?%|lower(?: bound| limit)?|ci_?low(?:er)?"),
    ("high", r"\b0?\.975 ?\]|conf\.high|\b97\.5 ?%|upper(?: bound| limit)?|ci_?upp(?:er)?|ci_?high"),
    ("statistic", r"[tz][ .\-]?(?:values?|stat(?:istic)?s?|ratio)\b|\bstatistic\b|(?<![\w|])[tz](?![\w|])"),
    (
        "estimate",
        r"parameter +estimates?|unstandardi[sz]ed b|\bcoef(?:\.|f?icients?\b|s\b|\b)?|\bestimates?\b"
        r"|(?<!\()\bb\b(?!\))",
    ),
)
_HEAD = re.compile("|".join(f"(?P<{name}>{words})" for name, words in _HEADS), re.IGNORECASE)
_RULE = re.compile(r"[\s=\-_─━–—+|*:.~]*[=\-_─━–—]{3,}[\s=\-_─━–—+|*:.~]*")

_COUNTS = re.compile(
    r"(?:num(?:ber)?\.? ?(?:of )?obs(?:ervations)?\.?(?: used)?|no\.? ?(?:of )?observations|observations"
    r"|n\.? ?obs\.?|nobs|sample size|n)(?: \(.*\))?",
    re.IGNORECASE,
)
_STATISTICS = re.compile(
    r"(?:r[\- ]?(?:2|²|squared|sq(?:uare)?)|adj(?:usted)?\.? ?r|pseudo\b|within\b|(?:aic|bic|aicc|icc|rmse"
    r"|sigma)\b|log[.\- ]?lik"
    r"|ll\b|deviance|null dev|f(?:[- ]stat(?:istic)?)?\.?(?: \(.*\))?$|wald\b|chi(?:\b|2|sq)|residual std"
    r"|std\.? ?err|standard errors?|se type"
    r"|fixed effects|controls?\b|mean of|dep\. mean|dependent mean|prob\b|p[- ]?value|df\b"
    r"|num\.? groups|.* fe$)",
    re.IGNORECASE,
)


def is_rule(line: str) -> bool:
    """Whether a line only draws a rule.

    Examples
    --------
    >>> is_rule("-----+-----"), is_rule("age  -0.2")
    (True, False)
    """
    return _RULE.fullmatch(line) is not None


def about_people(label: str) -> bool:
    """Whether a label stands before the number of people."""
    return _COUNTS.fullmatch(label.strip().rstrip(":")) is not None


def is_statistic(label: str) -> bool:
    """Whether a label of a regression table is about the fit and no term of it."""
    bare = label.strip()
    return about_people(bare) or _STATISTICS.match(bare) is not None


def columns_of_text(header: str) -> tuple[str, ...]:
    """What the columns below a line of headers are; empty if they are not those of coefficients.

    Examples
    --------
    >>> columns_of_text("Estimate Std. Error t value Pr(>|t|)")
    ('estimate', 'error', 'statistic', 'p')
    >>> columns_of_text("coef    std err          z      P>|z|      [0.025      0.975]")
    ('estimate', 'error', 'statistic', 'p', 'low', 'high')
    """
    found: list[str] = []
    for word in _HEAD.finditer(header):
        found += ["low", "high"] if word.lastgroup == "ends" else [str(word.lastgroup)]
    return tuple(found) if _are_heads(found) else ()


def columns_of_cells(cells: Sequence[str]) -> tuple[str, ...]:
    """What each column of a table is, the first being the names; empty if they are not of coefficients."""
    found = []
    for cell in cells:
        word = _HEAD.match(cell.strip())
        whole = word is not None and len(word[0]) >= len(cell.strip()) - 2
        found.append(str(word.lastgroup) if word is not None and whole else "")
    return tuple(found) if _are_heads(found) else ()


def _are_heads(found: Sequence[str]) -> bool:
    estimates = found.count("estimate") + found.count("estimate_exp")
    others = {"error", "statistic", "p", "low"} & set(found)
    return 0 < estimates <= 2 and bool(others)


_SPECIAL = (
    ("mixed", r"mixed|lmer\(|multilevel|\blme\("),
    ("Cox", r"\bcox|hazard|phreg|coxph"),
    ("multinomial", r"mnlogit|multinom|mlogit"),
    ("ordered", r"ordered|ologit|oprobit|polr\("),
    ("negative binomial", r"negative ?binomial|glm\.nb|nbreg"),
    ("tobit", r"\btobit\b"),
    ("quantile", r"quant(?:ile)?[ _]?reg|\brq\("),
    ("instruments", r"\b2sls\b|\biv2sls\b|ivreg"),
    ("weighted", r"\bwls\b|\bweights? ?=|svyglm|\[(?:aw|pw|fw|iw)(?:eight)?s?=|least squares \(weighted"),
)
_PLAIN = (
    ("probit", r"\bprobit\b"),
    ("logistic", r"\blogit\b|\blogistic\b|binomial|proc logistic|\blogit\("),
    ("poisson", r"\bpoisson\b"),
    (
        "linear",
        r"\bols\b|least squares|\blm\(|linear regression|gaussian|\bidentity\b|\bregress\b|proc reg\b"
        r"|source \|\s+ss"
        r"|\blinear\b|root mse",
    ),
)


def kind_in(text: str) -> str:
    """The kind of model that a text speaks of; empty if it says nothing.

    Examples
    --------
    >>> kind_in("Model: Logit"), kind_in("glm(formula = y ~ x, family = poisson)"), kind_in("")
    ('logistic', 'poisson', '')
    """
    small = text.lower()
    for kind, words in (*_SPECIAL, *_PLAIN):
        if re.search(words, small):
            return kind
    return ""


def link_in(text: str) -> str:
    """The link of a generalised linear model, as printed; empty if there is none."""
    found = re.search(r"Link Function:\s*(\w+)", text) or re.search(r"\(link ?= ?[\"']?(\w+)", text)
    return found[1] if found else ""
