"""What an expression may say, what it then means, and how a bad one is refused."""

import pytest

from assay.core.cron import parse
from assay.core.cron.expression import ALL_MONTHS, SHORTHANDS, Expression
from assay.errors import BadValue

ALL_WEEKDAYS = {0, 1, 2, 3, 4, 5, 6}


def members(numbers: int) -> set[int]:
    return {number for number in range(numbers.bit_length()) if numbers >> number & 1}


def refusal(text: str) -> str:
    with pytest.raises(BadValue) as refused:
        parse(text)
    return str(refused.value)


# -- fields ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("0", {0}),
        ("59", {59}),
        ("05", {5}),
        ("1,3,1", {1, 3}),
        ("7-9", {7, 8, 9}),
        ("7-7", {7}),
        ("*/15", {0, 15, 30, 45}),
        ("*/25", {0, 25, 50}),
        ("*/60", {0}),
        ("*/999999999", {0}),
        ("*/10000000000", {0}),
        (f"7/1{'0' * 900},9", {7, 9}),
        ("3-9/99999999999", {3}),
        ("0000000000005", {5}),
        ("50/4", {50, 54, 58}),
        ("10-20/5", {10, 15, 20}),
        ("10-19/5", {10, 15}),
        ("58-59,0/30,*/20", {58, 59, 0, 30, 20, 40}),
        ("*", set(range(60))),
        ("*/1", set(range(60))),
        ("*,5", set(range(60))),
    ],
)
def test_a_field_is_a_list_of_numbers_ranges_and_steps(text: str, minutes: set[int]) -> None:
    assert members(parse(f"{text} * * * *").minutes) == minutes
    assert members(parse(f"{text} * * * * *").seconds) == minutes


@pytest.mark.parametrize("minute", ["60", "99999999999", "1" + "0" * 900, "1000000000"])
def test_a_number_outside_of_the_field_is_refused(minute: str) -> None:
    assert "minute" in refusal(f"{minute} * * * *")
    assert "second" in refusal(f"{minute} * * * * *")


@pytest.mark.parametrize(
    "minute",
    [
        *("5-1", "59-0", "1-60", "60-61", "1-", "-1", "-", "1-2-3", "*-5", "5-*", "1--2"),
        *("*/0", "5/0", "1-9/0", "*/-1", "*/", "/5", "/", "1/2/3", "*/*", "*/00000000000", "*/x"),
        *(",", "1,", ",1", "1,,2", "**", "*5", "5*"),
        *(
            "?",
            "?/2",
            "L",
            "W",
            "1W",
            "1#2",
            "x",
            "MON",
            "jan",
            "H",
            "~",
            "0x1",
            "1.0",
            "+1",
            "1_0",
        ),
        *("\u0661", "\u00b2", "\uff11", "1\n", "\n", "1\u00a0", "\x00", "\ud800", "*\r"),
    ],
)
def test_anything_else_in_a_field_is_refused_by_the_field_s_name(minute: str) -> None:
    assert refusal(f"{minute} * * * *").startswith("cron expression: minute: ")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("60 * * * *", "minute: '60' is not within 0-59"),
        ("60 * * * * *", "second: '60' is not within 0-59"),
        ("* 24 * * *", "hour: '24' is not within 0-23"),
        ("* 1,5-1 * * *", "hour: '5-1' runs backwards"),
        ("* x * * *", "hour: 'x' is not a number"),
        ("* * 0 * *", "day of month: '0' is not within 1-31"),
        ("* * 32 * *", "day of month: '32' is not within 1-31"),
        ("* * * 0 *", "month: '0' is not within 1-12"),
        ("* * * 13 *", "month: '13' is not within 1-12"),
        ("* * * janu *", "month: 'janu' is not a number or a name"),
        ("* * * ? *", "month: '?' is not a number or a name"),
        ("* * * * 8", "day of week: '8' is not within 0-7"),
        ("* * * * * 0", "day of week: '0' is not within 1-7"),
        ("* * * * * 8", "day of week: '8' is not within 1-7"),
        ("* * * * */0", "day of week: '*/0' needs a step of 1 or more"),
        ("* * * * * * 1969", "year: '1969' is not within 1970-2100"),
        ("* * * * * * 2101", "year: '2101' is not within 1970-2100"),
        ("* * * * * * ?", "year: '?' is not a number"),
        ("* * * *", "'* * * *' has 4 fields, not 5, 6 or 7"),
        ("* * * * * * * *", "'* * * * * * * *' has 8 fields, not 5, 6 or 7"),
        ("", "blank"),
        (" \t ", "blank"),
        ("* " * 501, "longer than 1000 bytes"),
        ("\u20ac" * 2_000_000, "longer than 1000 bytes"),
        ("@midnight", "'@midnight' is not one of @yearly, @monthly, @weekly, @daily, @hourly"),
        ("@Daily", "'@Daily' is not one of @yearly, @monthly, @weekly, @daily, @hourly"),
        ("@daily * * * *", "'@daily * * * *' is not one of @yearly,"),
    ],
)
def test_a_refusal_names_the_field_and_what_is_wrong_with_it(text: str, complaint: str) -> None:
    assert refusal(text).startswith(f"cron expression: {complaint}")


def test_a_refusal_repeats_only_the_beginning_of_a_long_text_and_stays_on_one_line() -> None:
    text = refusal("\n" + "x" * 900 + " * * * *")
    assert len(text) < 120
    assert text.isprintable()


def test_blanks_and_tabs_may_stand_between_and_around_fields() -> None:
    assert parse(" \t1  2\t3 \t 4   5 ") == parse("1 2 3 4 5")
    assert parse("\t@daily ") == parse("@daily")


# -- the two dialects ------------------------------------------------------------------------------


def test_six_and_seven_fields_begin_with_seconds_and_five_with_minutes() -> None:
    six = parse("1 2 3 4 5 6")
    assert parse("1 2 3 4 5 6 *") == six
    fields = (six.seconds, six.minutes, six.hours, six.days, six.months, six.weekdays)
    assert [members(field) for field in fields] == [{1}, {2}, {3}, {4}, {5}, {5}]
    five = parse("2 3 4 5 5")
    assert members(five.seconds) == {0}
    assert (five.minutes, five.hours, five.days) == (six.minutes, six.hours, six.days)
    assert (five.months, five.weekdays) == (six.months, six.weekdays)
    assert members(six.years) == members(five.years) == set(range(1970, 2101))


@pytest.mark.parametrize(
    ("text", "years"),
    [
        ("2026", {2026}),
        ("1970,2100", {1970, 2100}),
        ("2098/1", {2098, 2099, 2100}),
        ("2024-2032/4", {2024, 2028, 2032}),
        ("*/100", {1970, 2070}),
    ],
)
def test_the_seventh_field_is_the_year(text: str, years: set[int]) -> None:
    assert members(parse(f"0 0 0 1 1 ? {text}").years) == years


@pytest.mark.parametrize(
    ("text", "short", "longer"),
    [
        ("1", {1}, {0}),
        ("7", {0}, {6}),
        ("1-5", {1, 2, 3, 4, 5}, {0, 1, 2, 3, 4}),
        ("5-7", {5, 6, 0}, {4, 5, 6}),
        ("*/2", {0, 2, 4, 6}, {0, 2, 4, 6}),
        ("*/3", {0, 3, 6}, {0, 3, 6}),
        ("2/5", {2, 0}, {1, 6}),
        ("?", ALL_WEEKDAYS, ALL_WEEKDAYS),
        ("*", ALL_WEEKDAYS, ALL_WEEKDAYS),
        ("sun", {0}, {0}),
        ("SATURDAY", {6}, {6}),
        ("Mon-fRi", {1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}),
        ("mon-friday/2,SUN", {1, 3, 5, 0}, {1, 3, 5, 0}),
        ("Sunday-Wednesday", {0, 1, 2, 3}, {0, 1, 2, 3}),
        ("thu/1", {4, 5, 6, 0}, {4, 5, 6}),
        ("tue-6", {2, 3, 4, 5, 6}, {2, 3, 4, 5}),
    ],
)
def test_sunday_is_1_of_7_in_long_expressions_and_0_or_7_in_short_ones(
    text: str, short: set[int], longer: set[int]
) -> None:
    assert members(parse(f"* * * * {text}").weekdays) == short
    assert members(parse(f"* * * * * {text}").weekdays) == longer


def test_0_and_7_are_both_sunday_in_short_expressions() -> None:
    assert members(parse("* * * * 0").weekdays) == members(parse("* * * * 7").weekdays) == {0}
    assert members(parse("* * * * 0-7").weekdays) == ALL_WEEKDAYS


@pytest.mark.parametrize(
    ("weekday", "found"),
    [
        ("fri-sun", {5, 6, 0}),
        ("SAT-Sunday", {6, 0}),
        ("mon-sun/3", {1, 4, 0}),
        ("6-sun", {6, 0}),
        ("7-sun", {0}),
        ("sun-sun", {0}),
        ("0-sun", {0}),
        ("sun-tue", {0, 1, 2}),
        ("wed-sun,tue", {2, 3, 4, 5, 6, 0}),
    ],
)
def test_sunday_ends_a_range_of_a_short_expression_as_7_where_0_would_run_backwards(
    weekday: str, found: set[int]
) -> None:
    assert members(parse(f"* * * * {weekday}").weekdays) == found


@pytest.mark.parametrize("weekday", ["fri-sun", "sat-Sunday", "2-sun"])
def test_sunday_is_1_at_the_end_of_a_range_of_a_long_expression_too(weekday: str) -> None:
    assert refusal(f"* * * * * {weekday}").endswith("runs backwards")


@pytest.mark.parametrize(
    "weekday", ["fri-mon", "sat-fri", "SUNDA", "fri-SUNDA", "tues", "thur", "m", "mon-", "JAN"]
)
def test_a_wrong_name_of_a_day_or_a_week_that_wraps_is_refused(weekday: str) -> None:
    assert refusal(f"* * * * {weekday}").startswith("cron expression: day of week: ")
    assert refusal(f"* * * * * {weekday}").startswith("cron expression: day of week: ")


@pytest.mark.parametrize(
    ("text", "months"),
    [
        ("JAN", {1}),
        ("january", {1}),
        ("feb,Aug-OCTOBER", {2, 8, 9, 10}),
        ("may/3", {5, 8, 11}),
        ("sep-12", {9, 10, 11, 12}),
    ],
)
def test_months_have_names(text: str, months: set[int]) -> None:
    assert members(parse(f"* * * {text} *").months) == months


# -- days ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("days", "either"),
    [
        ("1 * 1", True),
        ("1 * ?", False),
        ("1 * *", False),
        ("* * 1", False),
        ("? * 1", False),
        ("? * ?", False),
        ("*/2 * 1", True),
        ("1-31 * 0-6", True),
        ("1 * */1", True),
    ],
)
def test_either_day_suffices_if_both_fields_of_a_short_expression_are_restricted(
    days: str, either: bool
) -> None:
    assert parse(f"0 0 {days}").either is either


def test_in_a_long_expression_both_day_fields_must_match() -> None:
    assert not parse("0 0 0 13 * FRI").either


@pytest.mark.parametrize(
    ("days", "months"),
    [("29 2", {2}), ("30,31 2", set()), ("31 2,4,6,9,11", set()), ("31 3-6", {3, 5})],
)
def test_months_without_any_of_the_days_are_left_out(days: str, months: set[int]) -> None:
    assert members(parse(f"0 0 {days} *").months) == months


def test_months_are_kept_where_a_weekday_suffices() -> None:
    assert parse("0 0 31 * 1").months == ALL_MONTHS


# -- hours -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hour", "twice"),
    [
        ("*", True),
        ("*/2", True),
        ("2/1", True),
        ("1-3/2", True),
        ("5,1-3/2", True),
        ("*,5", True),
        ("2", False),
        ("0-23", False),
        ("1,2,3", False),
    ],
)
def test_what_goes_by_the_hour_does_not_pause_in_a_repeated_hour(hour: str, twice: bool) -> None:
    assert parse(f"0 {hour} * * *").twice is twice
    assert parse(f"0 0 {hour} * * *").twice is twice


# -- shorthands ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("@yearly", "0 0 0 1 JAN ?"),
        ("@monthly", "0 0 0 1 * ?"),
        ("@weekly", "0 0 0 ? * SUN"),
        ("@daily", "0 0 0 * * ?"),
        ("@hourly", "0 0 * * * ?"),
    ],
)
def test_shorthands_stand_for_expressions(text: str, same: str) -> None:
    assert parse(text) == parse(same)
    assert text in SHORTHANDS


def test_an_expression_is_a_value() -> None:
    assert isinstance(parse("@daily"), Expression)
    assert hash(parse("@daily")) == hash(parse("0 0 * * *"))
