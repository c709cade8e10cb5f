"""Every option of `serve` that takes a number says which ones it takes, to whoever gives another one."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from selector.commands.serve import SERVE
from surface.adapters.command_line import WRONG_USE, Command, run

NO_NUMBERS = ("many", "", "nan", "inf", "-inf", "0x10", "1_0", "٣", "-1", "-5MB", "-.5", "9" * 40, "1e300")
OF_TEXT = {"--store", "--vectors", "--model", "--cache", "--host", "--metrics-host", "--log-format", "--rate-store"} | {
    "--cache-key-file",
    "--keys",
    "--jwt-keys",
    "--jwt-audience",
    "--jwt-issuer",
    "--jwt-claim",
}
"""Whatever is said there may be meant."""


def _options() -> dict[str, argparse.Action]:
    parser = argparse.ArgumentParser()
    SERVE.configure(parser)
    valued = (action for action in parser._actions if action.nargs is None)
    return {action.option_strings[0]: action for action in valued}


NUMERIC = sorted(_options().keys() - OF_TEXT)


def test_options_of_numbers_are_known() -> None:
    known = (
        "cache-size drain keep-replaced max-connections memory metrics-port patience poll port rate strictness threads"
    )
    assert [f"--{name}" for name in known.split()] == NUMERIC


@pytest.mark.parametrize("option", NUMERIC)
@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number_that_it_takes_is_refused_in_one_line_with_those_that_it_takes(
    option: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = Command(name="serve", summary="", configure=SERVE.configure, run=lambda _: None)
    with pytest.raises(SystemExit) as ended:
        run([command], "toolsurface", ["serve", "--store", str(tmp_path), option, text])
    assert ended.value.code == WRONG_USE
    said = capsys.readouterr().err
    assert re.fullmatch(rf"toolsurface serve: argument {option}: needs [^\n]*[0-9][^\n]*\n", said), said


@pytest.mark.parametrize(
    ("option", "least", "most", "beyond"),
    [
        ("--threads", "1", "256", ("0", "257")),
        ("--port", "0", "65535", ("65536", "-1")),
        ("--metrics-port", "1", "65535", ("0", "65536")),
        ("--max-connections", "1", "100000", ("0", "100001")),
        ("--poll", "0.01", "86400", ("0.009", "86400.1")),
        ("--patience", "0.01", "86400", ("0", "86401")),
        ("--drain", "0", "600", ("-0.1", "600.5")),
        ("--keep-replaced", "0", "86400", ("-0.1", "86401")),
        ("--strictness", "0", "1000", ("-0.1", "1001")),
        ("--memory", "1", "1048576GiB", ("0", "1048577GiB")),
        ("--cache-size", "1", "1048576GiB", ("0", "1048577GiB")),
        ("--rate", "1/second", "999999999/hour", ("0/second", "1000000000/hour")),
    ],
)
def test_the_ends_of_what_is_taken_are_taken_and_nothing_beyond_them(
    option: str, least: str, most: str, beyond: tuple[str, str]
) -> None:
    read = _options()[option].type
    assert callable(read)
    for text in (least, most):
        read(text)
    for text in beyond:
        with pytest.raises(argparse.ArgumentTypeError):
            read(text)
