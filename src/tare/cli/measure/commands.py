"""The commands of a line of ``tare measure``: their words and their names.

Words after ``--`` are run as they are. A command line is a text, as hyperfine takes it. Where it
has nothing that only a shell understands it is split into words, so that no shell's start is
measured; otherwise it is one word of ``sh -c``, inside the stack.
"""

from __future__ import annotations

import re
import shlex
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tare.cli.measure.parameters import (
    MAX_COMMANDS,
    PLACEHOLDER,
    Filling,
    filled,
    fillings,
    refuse_unused,
)
from tare.core.errors import ConfigError
from tare.work.workloads.command import WORDS

MAX_NAME = 40

_FOR_A_SHELL = re.compile(r"[|&;<>()$`*?\[\]#~!{}\n]")
_BUILTIN = {
    *(":", ".", "alias", "cd", "eval", "exec", "exit", "export", "read", "set"),
    *("trap", "type", "ulimit", "umask", "unset", "wait"),
}
"""What only a shell can do, although it looks like a program."""
_DURATION_OPTION = re.compile(r"(?<!\S)--?(?:run_?time|time|duration|max-time)[= ]0*[1-9]\S*")
_NOT_A_PROGRAM = re.compile(r"-.*|[0-9.]+")
_WHATEVER_STATUS = '"$@"; status=$?; [ $status -lt 126 ] || exit $status; exit 0'
"""Runs a program and hides its exit status, but not that it was not found or was killed."""

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """A command with its parameters filled in; ``text`` is how the user wrote it."""

    name: str
    text: str
    words: Words
    prepare: Words = ()
    setup: Words = ()


def read_commands(options: Namespace) -> list[Command]:
    """Return the commands of a line in its order, or raise ConfigError."""
    templates = _templates(options)
    combinations = fillings(options)
    texts = [one if isinstance(one, str) else " ".join(one) for one in templates]
    refuse_unused(combinations[0], [*texts, *options.prepare, options.setup or ""])
    if len(templates) * len(combinations) > MAX_COMMANDS:
        raise ConfigError(
            f"the parameters make {len(templates) * len(combinations)} commands; "
            f"expected at most {MAX_COMMANDS}; shorten the lists"
        )
    prepares = _one_each("--prepare", options.prepare, len(templates))
    if len(options.names) > len(templates):
        raise ConfigError(
            f"--command-name: {len(options.names)} names were given for {len(templates)} commands; "
            "expected at most one for each"
        )
    names = [*options.names, *[""] * (len(templates) - len(options.names))]
    made: list[Command] = []
    for template, text, prepare, name in zip(templates, texts, prepares, names, strict=True):
        for filling in combinations:
            unseen = [value for key, value in filling.items() if f"{{{key}}}" not in text]
            words = _words(template, filling, options.shell)
            if options.ignore_failure:
                words = ("sh", "-c", _WHATEVER_STATUS, "sh", *words)
            command = Command(
                filled(name, filling),
                " ".join([_written(template, filling), *unseen]),
                words,
                _words(prepare, filling, options.shell),
                _words(options.setup or "", filling, options.shell),
            )
            _refuse_service(command)
            if any(_runs(command) == _runs(one) for one in made):
                raise ConfigError(f"the command {command.text!r} was given twice; expected once")
            made.append(command)
    return _named(made)


def _refuse_service(command: Command) -> None:
    for place in WORDS:
        if any(place in word for word in command.words):
            raise ConfigError(
                f"the command {command.text}: {place} stands for a part of a service's address, "
                "and a service needs a study file (serve, of the workload command); expected a "
                "parameter of another name, or a study file"
            )


def _runs(command: Command) -> tuple[Words, Words, Words]:
    return command.words, command.prepare, command.setup


def unfilled(commands: Sequence[Command]) -> list[str]:
    """Return the placeholders that stand in commands as they are."""
    found = (match[0] for one in commands for match in PLACEHOLDER.finditer(one.text))
    return list(dict.fromkeys(found))


def duration_option(commands: Sequence[Command]) -> str:
    """Return the words that seem to set how long a command runs; empty if none do."""
    found = (_DURATION_OPTION.search(one.text) for one in commands)
    return next((match[0] for match in found if match), "")


def program(command: Command) -> str:
    """Return the program that a command runs, which may be a shell."""
    return _without_wrapper(command.words)[0]


def programs_for_shells(command: Command) -> Iterator[str]:
    """Yield the other programs that a command seems to run: those of its shells, its preparing."""
    for words in (_without_wrapper(command.words), command.prepare, command.setup):
        if words and words is not command.words:
            yield words[0]
        if len(words) > 2 and words[-2] == "-c":
            yield from _programs_in(words[-1])


def _without_wrapper(words: Words) -> Words:
    return words[4:] if words[2:3] == (_WHATEVER_STATUS,) else words


def _programs_in(line: str) -> Iterator[str]:
    """Yield what stands where a shell expects a program."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    begins = True
    try:
        for word in lexer:
            if set(word) <= set("|&;()"):
                begins = True
            elif begins and "=" not in word:
                yield word
                begins = False
    except ValueError:  # a quotation that does not end; the shell will say so
        return


def _templates(options: Namespace) -> list[str | Words]:
    """Return the commands as they are written: texts, or the words of one."""
    given: list[str] = options.command
    if not given or not all(one.strip() for one in given[:1]):
        raise ConfigError(
            "no command was given; expected one after --, as in: "
            "tare measure --in docker -- sysbench cpu run"
        )
    if "--" in options.argv:
        after = options.argv[options.argv.index("--") + 1 :]
        if len(after) < len(given):
            before = given[: len(given) - len(after)]
            raise ConfigError(
                f"{shlex.join(before)} stands before -- and {shlex.join(after) or 'nothing'} after "
                "it; expected one command after --, or command lines without --"
            )
        # No program has a name with a space in it, so those are lines.
        return [tuple(given)] if len(given[0].split()) == 1 else list(given)
    for one in given:
        if _NOT_A_PROGRAM.fullmatch(one.strip()) or not one.strip():
            raise ConfigError(
                f"{one!r} was given as a command of its own; for one command of several words "
                f"put -- before it: -- {shlex.join(given)}"
            )
    return list(given)


def _one_each(option: str, given: Sequence[str], count: int) -> Sequence[str]:
    if len(given) <= 1:
        return [given[0] if given else ""] * count
    if len(given) != count:
        raise ConfigError(
            f"{option} was given {len(given)} times for {count} commands; "
            "expected once for all, or once for each"
        )
    return given


def _words(template: str | Words, filling: Filling, shell: str) -> Words:
    """Return the words that are run."""
    if not isinstance(template, str):
        return tuple(filled(word, filling) for word in template)
    line = filled(template, filling).strip()
    if not line:
        return ()
    if shell not in ("auto", "none"):
        return (*_split("--shell", shell), "-c", line)
    if shell == "auto" and _wants_a_shell(line):
        return ("sh", "-c", line)
    return _split("the command", line)


def _written(template: str | Words, filling: Filling) -> str:
    """Return a command as a person writes it."""
    if isinstance(template, str):
        return filled(template, filling).strip()
    words = [filled(word, filling) for word in template]
    return " ".join(shlex.quote(word) if len(word.split()) != 1 else word for word in words)


def _wants_a_shell(line: str) -> bool:
    first = line.split()[0]
    return bool(_FOR_A_SHELL.search(line)) or "=" in first or first in _BUILTIN


def _split(what: str, line: str) -> Words:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise ConfigError(f"{what} {line!r} cannot be split into words: {error}") from None
    if not words:
        raise ConfigError(f"{what} {line!r} has no word; expected a program")
    return tuple(words)


def _named(commands: Sequence[Command]) -> list[Command]:
    """Return the commands with names: the user's, of the only program, or of the text."""
    given = Counter(_slug(one.name) for one in commands if one.name)
    for name, count in given.items():
        if not name:
            raise ConfigError("--command-name: expected letters, digits or ._+- in each name")
        if count > 1:
            raise ConfigError(
                f"--command-name: {count} commands are called {name!r}; expected a name of its own "
                "for each; a parameter can be part of it: 'level {level}'"
            )
    taken = set(given)
    named = []
    for one in commands:
        name = _slug(one.name)
        if not name:
            text = program(one).rpartition("/")[2] if len(commands) == 1 else one.text
            base = name = _slug(text) or "command"
            number = 1
            while name in taken:
                number += 1
                name = f"{base[: MAX_NAME - 4]}-{number}"
        taken.add(name)
        named.append(replace(one, name=name))
    return named


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._+]+", "-", text).strip("-")[:MAX_NAME].strip("-")
