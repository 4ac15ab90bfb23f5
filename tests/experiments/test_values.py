import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibpcl.errors import UserError
from ibpcl.experiments.values import convert, describe, parse, toml

INTEGERS = tuple[int, ...]
MAYBE = int | None


@pytest.mark.parametrize(
    "kind, value",
    [
        (int, 3),
        (float, 0.5),
        (str, "relu"),
        (bool, True),
        (INTEGERS, (3, 4)),
        (MAYBE, None),
        (MAYBE, 3),
        (str | None, None),
        (tuple[float, ...], (0.5, 2.0)),
    ],
)
def test_a_value_of_the_right_type_stays_itself(kind, value):
    assert convert("key", value, kind) == value
    assert type(convert("key", value, kind)) is type(value)


@pytest.mark.parametrize(
    "kind, value, converted",
    [
        (float, 2, 2.0),
        (INTEGERS, [3, 4], (3, 4)),
        (INTEGERS, 3, (3,)),
        (tuple[float, ...], [1], (1.0,)),
        (MAYBE, "none", None),
        (str | None, "none", None),
    ],
)
def test_what_stands_for_another_type(kind, value, converted):
    result = convert("key", value, kind)
    assert result == converted and repr(result) == repr(converted)


@pytest.mark.parametrize(
    "kind, value",
    [
        (int, 2.5),
        (int, 2.0),
        (int, True),
        (int, "2"),
        (int, None),
        (int, [2]),
        (float, "0.5"),
        (float, False),
        (bool, 1),
        (bool, "true"),
        (str, 5),
        (str, b"x"),
        (INTEGERS, [1, "2"]),
        (INTEGERS, [[1]]),
        (INTEGERS, [True]),
        (INTEGERS, {"a": 1}),
        (MAYBE, "nothing"),
        (MAYBE, 0.5),
    ],
)
def test_a_wrong_type_names_the_key_what_is_expected_and_what_came(kind, value):
    with pytest.raises(UserError) as error:
        convert("epochs", value, kind)
    assert "epochs must be" in str(error.value)
    assert describe(kind) in str(error.value)
    assert f"got {toml(value)}" in str(error.value)


@pytest.mark.parametrize(
    "kind, text, value",
    [
        (int, "12", 12),
        (int, " 12 ", 12),
        (int, "-3", -3),
        (float, "1e-3", 1e-3),
        (float, "2", 2.0),
        (str, "relu", "relu"),
        (bool, "true", True),
        (bool, "False", False),
        (INTEGERS, "200", (200,)),
        (INTEGERS, "100,50", (100, 50)),
        (INTEGERS, "[100, 50]", (100, 50)),
        (INTEGERS, "(100,)", (100,)),
        (INTEGERS, "[]", ()),
        (MAYBE, "none", None),
        (MAYBE, "5", 5),
        (str | None, "None", None),
        (str | None, "data", "data"),
    ],
)
def test_text_of_a_command_line(kind, text, value):
    result = parse("key", text, kind)
    assert result == value and type(result) is type(value)


@pytest.mark.parametrize(
    "kind, text",
    [
        (int, "2.5"),
        (int, "two"),
        (int, ""),
        (int, "none"),
        (float, "fast"),
        (bool, "yes"),
        (bool, "1"),
        (INTEGERS, ""),
        (INTEGERS, "1,,2"),
        (INTEGERS, "1;2"),
        (INTEGERS, "1.5"),
        (MAYBE, "some"),
    ],
)
def test_text_that_says_no_such_value(kind, text):
    with pytest.raises(UserError, match=r"alpha must be .*, got "):
        parse("alpha", text, kind)


@given(
    st.one_of(
        st.tuples(st.just(int), st.integers()),
        st.tuples(st.just(bool), st.booleans()),
        st.tuples(st.just(float), st.floats(allow_nan=False)),
        st.tuples(st.just(INTEGERS), st.lists(st.integers(), min_size=1).map(tuple)),
        st.tuples(st.just(MAYBE), st.none() | st.integers()),
    )
)
def test_what_is_shown_can_be_typed(case):
    kind, value = case
    again = parse("key", toml(value), kind)
    assert again == value or (math.isnan(again) and math.isnan(value))
    assert type(again) is type(value)
