"""Checks of arguments: what passes comes back as a plain number, what does not names the rule."""

import math

import numpy as np
import pytest

from tellall.core.checks import above_zero, at_least_zero, is_number, is_whole, share, whole
from tellall.core.errors import InvalidInput

NOT_NUMBERS = [-(10**400), True, np.bool_(True), "1", None, 1j, [1], math.nan]


@pytest.mark.parametrize("value", [1, np.int8(1), np.uint64(1)])
def test_whole_numbers_come_back_as_python_ints(value):
    assert type(whole("n", value)) is int
    assert is_whole(value)
    assert is_number(value)


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int64(1)])
def test_numbers_come_back_as_python_floats(value):
    for check in (at_least_zero, above_zero, share):
        assert type(check("x", value)) is float


@pytest.mark.parametrize("value", NOT_NUMBERS)
@pytest.mark.parametrize("check", [whole, at_least_zero, above_zero, share])
def test_anything_else_is_refused(check, value):
    with pytest.raises(InvalidInput, match="x must be"):
        check("x", value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: whole("n", 1.0), "n must be a whole number of 1 or more; got 1.0."),
        (lambda: whole("n", 0), "n must be a whole number of 1 or more; got 0."),
        (lambda: whole("n", 6, 2, 5, also=" people"), "n must be a whole number from 2 to 5 people; got 6."),
        (lambda: at_least_zero("x", -1), "x must be a finite number, zero or more; got -1."),
        (lambda: at_least_zero("x", math.inf), "x must be a finite number, zero or more; got inf."),
        (lambda: at_least_zero("x", -1, finite=False), "x must be zero or more; got -1."),
        (lambda: above_zero("x", 0), "x must be a finite number above zero; got 0."),
        (lambda: above_zero("x", 0, finite=False), "x must be above zero; got 0."),
        (lambda: share("x", 1.5), "x must be a share from 0 to 1; got 1.5."),
        (lambda: share("x", 0, zero=False), "x must be a share above 0 and at most 1; got 0."),
        (lambda: share("x", 1, one=False), "x must be a share from 0 to below 1; got 1."),
        (lambda: share("x", 1, zero=False, one=False), "x must be a share strictly between 0 and 1; got 1."),
    ],
)
def test_messages_name_parameter_rule_and_value(call, message):
    with pytest.raises(InvalidInput) as error:
        call()
    assert str(error.value) == message


def test_infinity_passes_where_it_is_allowed():
    assert at_least_zero("x", math.inf, finite=False) == above_zero("x", math.inf, finite=False) == math.inf
