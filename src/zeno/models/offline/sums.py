"""Sums written in a sentence, as expressions a calculator can read."""

import re

from zeno.models.offline.sentence import plain, without_dates, without_names

_WORDED = (
    (re.compile(r"(?:the\s+)?square root of\s*\(?(\d[\d.,]*)\)?", re.IGNORECASE), r"sqrt(\1)"),
    (re.compile(r"(\d[\d.,]*)\s*的平方根|根号\s*(\d[\d.,]*)"), r"sqrt(\1\2)"),
    (re.compile(r"(?:the\s+)?factorial of\s*(\d+)", re.IGNORECASE), r"factorial(\1)"),
    (re.compile(r"(\d+)\s*的阶乘"), r"factorial(\1)"),
    (re.compile(r"(\d+)!(?!=)"), r"factorial(\1)"),
    (re.compile(r"(\d[\d.,]*)\s*(?:to the power of|to the power|的)\s*(\d+)\s*次方", re.IGNORECASE), r"\1^\2"),
    (re.compile(r"to the power (?:of)?|raised to", re.IGNORECASE), "^"),
    (re.compile(r"(\d[\d.,]*)\s*(?:squared|的平方)", re.IGNORECASE), r"\1^2"),
    (re.compile(r"(\d[\d.,]*)\s*(?:cubed|的立方)", re.IGNORECASE), r"\1^3"),
    (re.compile(r"(\d[\d.,]*)\s*(?:%|percent|per cent)\s*of\s*(?=[\d(])", re.IGNORECASE), r"\1% * "),
    (re.compile(r"(\d[\d.,]*)\s*的\s*(\d[\d.,]*)\s*%"), r"\1 * \2%"),
    (re.compile(r"(?<=\d)\s*的\s*(?=\d)"), "*"),
    (re.compile(r"(?<=[\d)%])\s*(?:plus|加上?|再加)\s*(?=[\d(a-z-])", re.IGNORECASE), " + "),
    (re.compile(r"(?<=[\d)%])\s*(?:minus|less|减去?|再减)\s*(?=[\d(a-z-])", re.IGNORECASE), " - "),
    (re.compile(r"(?<=[\d)%])\s*(?:multiplied by|times|乘以?|×|x|X)\s*(?=[\d(a-z-])", re.IGNORECASE), " * "),
    (re.compile(r"(?<=[\d)%])\s*(?:divided by|over|除以|÷)\s*(?=[\d(a-z-])", re.IGNORECASE), " / "),
    (re.compile("−"), "-"),
)
_FUNCTION = r"(?:sqrt|abs|round|min|max|log10|log|ln|exp|sin|cos|tan|floor|ceil|factorial)\s*\("
_TOKEN = rf"(?:{_FUNCTION}|\d[\d,]*\.?\d*(?:e[+-]?\d+)?%?|\.\d+|\bpi\b|\be\b|\*\*|//|[-+*/^%(),])"
_SUM = re.compile(rf"{_TOKEN}(?:\s*{_TOKEN})*", re.IGNORECASE)
_OPERATOR = re.compile(rf"[\d)%ie]\s*(?:\*\*|//|[-+*/^%])\s*[-+]?[\d(a-z.]|{_FUNCTION}", re.IGNORECASE)


def expressions(text: str) -> tuple[str, ...]:
    """The sums in the text, in order; a number alone, a date, a file or an address is not a sum."""
    rest = without_dates(without_names(plain(text)))
    for pattern, replacement in _WORDED:
        rest = pattern.sub(replacement, rest)
    found = (_tidy(match[0]) for match in _SUM.finditer(rest))
    return tuple(dict.fromkeys(expression for expression in found if _OPERATOR.search(expression)))


def _tidy(expression: str) -> str:
    """The expression without brackets that were never opened or closed and signs left over from the sentence."""
    expression = expression.strip(" ,")
    while expression.endswith(("+", "-", "*", "/", "^", "(", ",")):
        expression = expression[:-1].rstrip()
    expression = expression.lstrip("*/^,) ")
    if expression.count("(") < expression.count(")"):
        expression = expression.rstrip(")") + ")" * expression.count("(")
    if expression.startswith("(") and expression.count("(") > expression.count(")"):
        expression = expression[1:]
    return expression.strip()
