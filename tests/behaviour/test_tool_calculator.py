import asyncio
import json
from pathlib import Path

import pytest

from zeno.core.errors import ToolFailed
from zeno.core.ports import ToolContext
from zeno.tools.builtin.calculator import calculate

CONTEXT = ToolContext(run_id="trace-0001", call_id="call", workspace=Path())


def answer(expression: str) -> str:
    text = asyncio.run(calculate.call({"expression": expression}, CONTEXT)).text
    shown: str = json.loads(text.rpartition("```json\n")[2].removesuffix("\n```"))["result"]
    assert text.splitlines()[0].endswith(f" {shown}")
    return shown


def failure(expression: str) -> ToolFailed:
    with pytest.raises(ToolFailed) as caught:
        answer(expression)
    return caught.value


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("2+3*4", "14"),
        ("(2+3)*4", "20"),
        ("-2^2", "-4"),
        ("2^3^2", "512"),
        ("2**-1", "0.5"),
        ("7//2", "3"),
        ("10 % 3", "1"),
        ("0.1+0.2", "0.3"),
        ("1/3*3", "1"),
        ("1/3", "0.333333333333"),
        ("10^500/3", "3.33333333333e+499"),
        ("123456789.123456789 + 1", "123456790.123456789"),
        ("0.12345678901234567890 * 10", "1.234567890123456789"),
        ("1_000. + .5 + 0e-999999999 + 0x10", "1016.5"),
        ("2^200", str(2**200)),
        ("1.0000001^1000000", "1.10517091261"),
        ("-0.05", "-0.05"),
    ],
)
def test_arithmetic_is_exact_where_fractions_allow(expression: str, result: str) -> None:
    assert answer(expression) == result


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("１＋２×３÷４", "2.5"),
        ("（１＋２）×３", "9"),
        ("１２，３４５＋１", "12346"),
        ("12−5", "7"),
        ("5²+2³", "33"),
        ("1,200*3 =?", "3600"),
        ("1+1＝？", "2"),
        ("(1,200+3,400)*2", "9200"),
        ("1,200.50*2", "2401"),
        ("12%", "0.12"),
        ("12.5％×80", "10"),
        ("10/(5)%", "200"),
        ("5%-2", "-1.95"),
        ("max(1,200)", "200"),
        ("max((1,200), 3)", "1200"),
    ],
)
def test_it_is_read_as_people_write_it(expression: str, result: str) -> None:
    assert answer(expression) == result


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("sqrt(16)", "4"),
        ("sqrt(2)", "1.41421356237"),
        ("sqrt(10^600)", "1" + "0" * 300),
        ("round(2.5)", "3"),
        ("round(-2.345, 2)", "-2.35"),
        ("round(1250, -2)", "1300"),
        ("abs(-3)+min(2,1)+max(5,6)+sum(1,2,3)", "16"),
        ("log(8, 2)", "3"),
        ("ln(e)", "1"),
        ("log10(10^900)", "900"),
        ("exp(0)+sin(0)+cos(0)+tan(0)", "2"),
        ("sin(π)", "0"),
        ("floor(-1.5)+ceil(1.2)", "0"),
        ("factorial(20)", "2432902008176640000"),
    ],
)
def test_functions_and_constants_are_known(expression: str, result: str) -> None:
    assert answer(expression) == result


def test_an_approximate_result_is_marked() -> None:
    exact = asyncio.run(calculate.call({"expression": "1/4"}, CONTEXT)).text
    rounded = asyncio.run(calculate.call({"expression": "1/7"}, CONTEXT)).text
    assert exact.startswith("1/4 = 0.25\n")
    assert rounded.startswith("1/7 ≈ 0.142857142857\n")
    assert '"exact":false' in rounded


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**7",
        "10**5000",
        "factorial(10**6)",
        "1e400",
        "exp(1000)",
        "10^999*10^999",
        "sqrt(2)*10^400",
        "9^9^9^9^9",
        "2^(10^900)",
    ],
)
def test_a_number_too_large_is_refused_at_once(expression: str) -> None:
    error = failure(expression)
    assert error.code == "number_too_large"
    assert "1000 digits" in error.message


def test_a_power_that_would_vanish_is_not_called_zero() -> None:
    assert "too close to zero" in failure("2^-5000").message
    assert "too close to zero" in failure("1e-999999999").message


@pytest.mark.parametrize("expression", ["1/0", "1%0 ", "5//0", "0^-1", "1/(0.1+0.2-0.3)"])
def test_a_division_by_zero_is_named(expression: str) -> None:
    assert failure(expression).code == "division_by_zero"


@pytest.mark.parametrize(
    ("expression", "near"),
    [("2*(3+4", "position 3"), ("3 4", "position 3"), ("1+", "position 2"), ("2x", "near '2x'")],
)
def test_a_slip_is_shown_with_its_place(expression: str, near: str) -> None:
    error = failure(expression)
    assert error.code == "bad_expression"
    assert near in error.message


@pytest.mark.parametrize(
    "expression",
    [
        "().__class__",
        "(1).real",
        "__import__('os')",
        "[1]",
        "12[0]",
        "'a'*3",
        "lambda: 1",
        "1 if 1 else 2",
        "1 < 2",
        "a := 1",
        "1; 2",
        "True",
        "1j",
        "abs",
        "abs + 1",
        "abs(*1)",
        "min()",
        "1, 2",
        "2(3+4)",
        "sqrt(-1)",
        "(-8)^(1/3)",
        "log(0)",
        "factorial(2.5)",
        "3½",
        "",
        " = ?",
        "-" * 499 + "1",
        "(" * 249 + "1" + ")" * 249,
    ],
)
def test_what_is_no_arithmetic_is_refused(expression: str) -> None:
    assert failure(expression).code == "bad_expression"


def test_unknown_names_are_answered_with_the_known_ones() -> None:
    for expression in ("x+1", "cosh(1)"):
        error = failure(expression)
        assert error.code == "unknown_name"
        assert "sqrt" in error.message


def test_thousands_in_a_call_are_explained() -> None:
    assert "not thousands" in failure("sqrt(12,000)").message


def test_a_long_expression_is_refused_unread() -> None:
    assert failure("1+" * 250 + "1").code == "expression_too_long"
