"""The calculator: arithmetic as people write it, exact where fractions allow. Knows numbers only, no variables, no attributes.

Decimals are fractions, so 0.1 + 0.2 is 0.3; roots, logarithms and angles are floating point and marked as approximate. Every
intermediate number has a size limit that is checked before it is computed, so no expression can keep the machine busy.
"""

import ast
import math
import operator
import re
import sys
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import msgspec

from zeno.core.errors import ToolFailed
from zeno.tools.function import tool

Number = Fraction | float

_LONGEST = 500
"""Characters of an expression."""
_MOST_DIGITS = 1000
_MOST_BITS = 3322
"""The bits of a number of 1000 digits."""
_ROUNDED = Context(prec=12)
_EXACT_DECIMALS = 30
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "–": "-", "^": "**", "²": "**2", "³": "**3", "π": "pi"})
_PERCENT = "[0]"
"""A trailing % is parsed as a subscript: it binds tightest, and nothing else may use it, as brackets are refused."""
_SEPARATED = re.compile(r"[A-Za-z_]\w*\s*\(|[()]|(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\d,])")


@tool(source="calculator")
def calculate(expression: str) -> str:
    """Compute an arithmetic expression exactly.

    Use it for every calculation instead of computing yourself: sums, percentages, powers, roots, logarithms, rounding.
    Operators: + - * / // % ^ and parentheses; 12% is 0.12; 1,200 may be written with separators. Functions: sqrt, abs,
    round(number, digits) (halves away from zero), min, max, sum, log(number, base) (natural without base), ln, log10, exp,
    sin, cos, tan (radians), floor, ceil, factorial; constants: pi, e.

    Args:
        expression: The expression, for example "(1,200 - 950) / 950" or "sqrt(2) * 100".
    """
    formula = _normalised(expression)
    result = _evaluated(formula)
    shown, exact = _shown(result)
    written = expression.strip().rstrip("=?？＝ ")
    supplement = msgspec.json.encode({"expression": written, "result": shown, "exact": exact}).decode()
    return f"{written} {'=' if exact else '≈'} {shown}\n\n```json\n{supplement}\n```"


def _normalised(expression: str) -> str:
    """The expression in Python's notation. Raises `ToolFailed` when it is empty, too long or has characters of no meaning."""
    if len(expression) > _LONGEST:
        raise ToolFailed(
            f"The expression has {len(expression)} characters, the limit is {_LONGEST}. Split it into smaller calculations.",
            code="expression_too_long",
        )
    text = " ".join(expression.translate(_FULL_WIDTH).translate(_SIGNS).split())
    text = re.sub(r"\s*=\s*\??\s*$", "", text)
    if not text:
        raise ToolFailed("The expression is empty. Give one such as '2 * (3 + 4)'.", code="bad_expression")
    if strange := re.search(r"[^\w\s.,+\-*/%()]|[^\x00-\x7f]", text):
        raise ToolFailed(
            f"The character {strange[0]!r} in {text!r} has no meaning here. Use numbers, + - * / // % ^ ( ) and functions.",
            code="bad_expression",
        )
    return re.sub(r"%(?!\s*[\w(.])", _PERCENT, _without_separators(text))


def _without_separators(text: str) -> str:
    """The text without thousands separators. Within a call's parentheses a comma separates arguments, so it stays there."""
    in_call = [False]

    def keep(match: re.Match[str]) -> str:
        found = match[0]
        if found.endswith("("):
            in_call.append(len(found) > 1)
        elif found == ")":
            in_call[1:] = in_call[1:-1]
        elif not in_call[-1]:
            return found.replace(",", "")
        return found

    return _SEPARATED.sub(keep, text)


def _evaluated(formula: str) -> Number:
    from simpleeval import InvalidExpression

    try:
        tree = _Percent().visit(ast.parse(formula, mode="eval"))
        result = _evaluator(formula).eval(formula, previously_parsed=tree.body)
    except (SyntaxError, InvalidExpression, ArithmeticError, TypeError, ValueError, RecursionError, MemoryError) as error:
        raise _failure(error, formula) from None
    if not isinstance(result, Number):
        raise ToolFailed(f"{formula!r} is not a number. Call functions with arguments, as in sqrt(2).", code="bad_expression")
    return result


def _failure(error: Exception, formula: str) -> ToolFailed:
    from simpleeval import FunctionNotDefined, NameNotDefined

    readable = formula.replace(_PERCENT, "%")
    match error:
        case OverflowError():
            limit = f"the limit is {_MOST_DIGITS} digits, 308 once a result is approximate"
            return ToolFailed(
                f"A number on the way is too large: {limit}. Use smaller ones or logarithms.", code="number_too_large"
            )
        case ZeroDivisionError():
            return ToolFailed(f"{readable!r} divides by zero. It has no result.", code="division_by_zero")
        case FunctionNotDefined(func_name=name) | NameNotDefined(name=name):
            known = ", ".join(_FUNCTIONS)
            return ToolFailed(f"{name!r} is not known. Functions: {known}; constants: pi, e.", code="unknown_name")
        case SyntaxError():
            return ToolFailed(f"{readable!r} is not an expression: {_where(error, formula)}.", code="bad_expression")
        case _:
            return ToolFailed(f"{readable!r} cannot be computed: {_reason(error)}.", code="bad_expression")


def _where(error: SyntaxError, formula: str) -> str:
    position = min(error.offset or len(formula), len(formula))
    near = formula[max(0, position - 6) : position + 5].replace(_PERCENT, "%")
    return f"{error.msg} at position {position}, near {near!r}"


def _reason(error: Exception) -> str:
    match error:
        case RecursionError() | MemoryError():
            return "it is nested too deeply; split it into smaller calculations"
        case TypeError():
            return "a function takes other arguments; inside its parentheses a comma separates arguments, not thousands"
        case ValueError():
            return "it has no real result" if "domain error" in str(error) else str(error)
        case _:
            return "only numbers, operators, parentheses and functions are allowed; write * for every multiplication"


def _evaluator(formula: str) -> Any:
    """An evaluator that knows the nodes of arithmetic and nothing else."""
    from simpleeval import SimpleEval

    evaluator = SimpleEval(operators=_OPERATORS, functions=_FUNCTIONS, names={"pi": math.pi, "e": math.e})
    allowed = (ast.Expr, ast.BinOp, ast.UnaryOp, ast.Call, ast.Name)
    evaluator.nodes = {kind: evaluator.nodes[kind] for kind in allowed} | {ast.Constant: lambda node: _literal(node, formula)}
    return evaluator


class _Percent(ast.NodeTransformer):
    def visit_Subscript(self, node: ast.Subscript) -> ast.BinOp:
        return ast.BinOp(left=self.visit(node.value), op=ast.Div(), right=ast.Constant(100))


def _literal(node: ast.Constant, formula: str) -> Fraction:
    """The number as it is written: a decimal with all its digits, not the nearest floating point one."""
    if isinstance(node.value, bool) or not isinstance(node.value, int | float):
        raise ValueError(f"{node.value!r} is not a real number")
    if isinstance(node.value, int):
        return Fraction(node.value)
    if math.isinf(node.value):
        raise OverflowError
    written = ast.get_source_segment(formula, node) or ""
    if node.value == 0 and re.match(r"[0.]*[1-9]", written):
        raise ValueError(f"{written} is too close to zero")
    return Fraction(written) if node.value else Fraction(0)


def _bounded(number: Any) -> Number:
    """The number as one that later steps can afford: a fraction of too many digits becomes floating point.

    Raises `OverflowError` when it is too large for that.
    """
    if isinstance(number, float):
        if not math.isfinite(number):
            raise OverflowError
        return number
    exact = Fraction(number)
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) <= _MOST_BITS:
        return exact
    return float(exact)


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        bits = math.log2(max(abs(base.numerator), base.denominator))
        if bits * abs(exponent.numerator) <= _MOST_BITS:
            return base**exponent.numerator
    if base == 0 and exponent < 0:
        raise ZeroDivisionError
    power = math.pow(base, exponent)
    if power == 0 and base != 0:
        raise ValueError("the power is too close to zero")
    return power


def _sqrt(number: Number) -> Number:
    if isinstance(number, Fraction) and number >= 0:
        root = Fraction(math.isqrt(number.numerator), math.isqrt(number.denominator))
        if root * root == number:
            return root
    return math.sqrt(number)


def _round(number: Number, digits: Number = 0.0) -> Fraction:
    if digits != int(digits) or not -100 <= digits <= 100:
        raise ValueError("round takes a whole number of digits up to 100")
    scale = Fraction(10) ** int(digits)
    size = Fraction(math.floor(abs(Fraction(number)) * scale + Fraction(1, 2))) / scale
    return size if number >= 0 else -size


def _factorial(number: Number) -> Fraction:
    if number != int(number) or number < 0:
        raise ValueError("factorial takes a whole number that is not negative")
    if number > 450:  # 450! has 1001 digits
        raise OverflowError
    return Fraction(math.factorial(int(number)))


def _angular(function: Callable[[float], float]) -> Callable[[Number], float]:
    """The function, 0 where its result is smaller than the rounding of its argument: sin(pi) is 0."""

    def of(angle: Number) -> float:
        result = function(float(angle))
        return result if abs(result) >= abs(float(angle)) * sys.float_info.epsilon else 0.0

    return of


def _log(number: Number, base: Number = math.e) -> float:
    return math.log(_whole(number)) if base == math.e else math.log(_whole(number), base)


def _log10(number: Number) -> float:
    return math.log10(_whole(number))


def _whole(number: Number) -> int | Number:
    """A whole number as `int`: its logarithm exists even where it is too large for floating point."""
    return number.numerator if isinstance(number, Fraction) and number.denominator == 1 else number


def _sum(*numbers: Number) -> Number:
    return sum(numbers, Fraction(0))


_OPERATORS: dict[type[ast.AST], Callable[..., Number]] = {
    ast.Add: lambda a, b: _bounded(a + b),
    ast.Sub: lambda a, b: _bounded(a - b),
    ast.Mult: lambda a, b: _bounded(a * b),
    ast.Div: lambda a, b: _bounded(a / b),
    ast.FloorDiv: lambda a, b: _bounded(a // b),
    ast.Mod: lambda a, b: _bounded(a % b),
    ast.Pow: lambda a, b: _bounded(_power(a, b)),
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_FUNCTIONS: dict[str, Callable[..., Number]] = {
    "sqrt": _sqrt,
    "abs": abs,
    "round": _round,
    "min": min,
    "max": max,
    "sum": _sum,
    "log": _log,
    "ln": _log,
    "log10": _log10,
    "exp": math.exp,
    "sin": _angular(math.sin),
    "cos": _angular(math.cos),
    "tan": _angular(math.tan),
    "floor": lambda number: Fraction(math.floor(number)),
    "ceil": lambda number: Fraction(math.ceil(number)),
    "factorial": _factorial,
}


def _shown(number: Number) -> tuple[str, bool]:
    """The number in digits, and whether these are all of it."""
    if isinstance(number, Fraction):
        if number.denominator == 1:
            return str(number.numerator), True
        if decimal := _as_decimal(number):
            return decimal, True
        return f"{_ROUNDED.divide(Decimal(number.numerator), Decimal(number.denominator)).normalize():g}", False
    return f"{number:.12g}", False


def _as_decimal(number: Fraction) -> str | None:
    """The number as a decimal, if it ends within a readable number of places."""
    scaled = number * 10**_EXACT_DECIMALS
    if scaled.denominator != 1:
        return None
    digits = str(abs(scaled.numerator)).zfill(_EXACT_DECIMALS + 1)
    sign = "-" if number < 0 else ""
    return f"{sign}{digits[:-_EXACT_DECIMALS]}.{digits[-_EXACT_DECIMALS:].rstrip('0')}"
