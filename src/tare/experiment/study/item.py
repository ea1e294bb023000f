"""A YAML document whose parts know their line, and the list of problems found in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

import yaml

from tare.core.errors import ConfigError
from tare.core.visible import visible
from tare.experiment.study import scale as scales
from tare.experiment.study.scale import SCALES, Choice, Scale

_NULL = "tag:yaml.org,2002:null"


@dataclass
class Problems:
    """Everything wrong in one file, reported together so that it can be fixed in one go.

    ``options`` are for a study that no file holds: by the path of a key, the option of the command
    line that it was made of. A problem is then named by its option instead of its line.
    """

    file: str
    options: Mapping[str, str] | None = None
    found: set[tuple[int, int, str, str]] = field(default_factory=set)

    def add(self, mark: yaml.Mark, path: str, message: str) -> None:
        """Note a problem at a place in the file and a path of keys."""
        self.found.add((mark.line + 1, mark.column + 1, path, message))

    def end(self) -> None:
        """Raise ConfigError if there was any problem; its lines are in the order of the file."""
        if self.found:
            lines = (self._line(*problem) for problem in sorted(self.found))
            raise ConfigError("\n".join(dict.fromkeys(lines)))

    def _line(self, row: int, column: int, path: str, message: str) -> str:
        if self.options is None:
            place = f"{path}: " if path else ""
            return f"{self.file}:{row}:{column}: {place}{message}"
        at = path
        while at and at not in self.options:  # from a key to what it stands below
            at = at[: max(at.rfind("."), at.rfind("["), 0)]
        return f"{self.options.get(at) or path or self.file}: {message}"


@dataclass(frozen=True, slots=True)
class Item:
    """A part of the file: a YAML node, the path of keys to it, and the mark that leads there.

    Readers note what is wrong and return something empty, so that the rest is still checked. Of
    parts that stand there at two scales they give the one that is the document's ``choice``.
    """

    node: yaml.Node
    path: str
    mark: yaml.Mark
    problems: Problems
    choice: Choice

    def wrong(self, message: str) -> None:
        """Note that this part is wrong: what was found, what is expected, how to fix it."""
        self.problems.add(self.mark, self.path, message)

    @property
    def is_empty(self) -> bool:
        """Whether the key has no value."""
        return self.node.tag == _NULL

    @property
    def is_list(self) -> bool:
        """Whether this is a list."""
        return isinstance(self.node, yaml.SequenceNode)

    @property
    def is_mapping(self) -> bool:
        """Whether this is a mapping of keys to values."""
        return isinstance(self.node, yaml.MappingNode)

    def text(self) -> str | None:
        """Read a single value as it is written, or note that it is none.

        What YAML 1.1 makes of it (``no`` a boolean, ``1:30`` a number) is not asked for: the type
        that is expected decides.
        """
        if isinstance(self.node, yaml.ScalarNode) and not self.is_empty:
            text = str(self.node.value)
            if text != visible(text):
                self.wrong(f"found {text!r}; expected no characters that command a terminal")
                return None
            return text
        self.wrong(f"found {self.found()}; expected a single value")
        return None

    def found(self) -> str:
        """Return what was found here."""
        if self.is_empty:
            return "no value"
        if self.is_list:
            return "a list"
        return "a mapping" if self.is_mapping else repr(self.node.value)

    def elements(self) -> list[Item]:
        """Read a list of at least one element, or note that it is none."""
        if not isinstance(self.node, yaml.SequenceNode):
            self.wrong(f"found {self.found()}; expected a list")
            return []
        elements: list[Item] = []
        for index, node in enumerate(self.node.value):
            element = replace(self, node=node, path=f"{self.path}[{index}]", mark=node.start_mark)
            chosen = element.at_scale()
            if chosen is not element and isinstance(chosen.node, yaml.SequenceNode):
                elements += [replace(chosen, node=n, mark=n.start_mark) for n in chosen.node.value]
            else:
                elements.append(chosen)
        if not elements:
            self.wrong("found an empty list; expected at least one value; add one or leave it out")
        return elements

    def entries(self) -> dict[str, Item]:
        """Read a mapping, or note that it is none; a key that stands twice is noted."""
        if not isinstance(self.node, yaml.MappingNode):
            self.wrong(f"found {self.found()}; expected a mapping of keys to values")
            return {}
        entries: dict[str, Item] = {}
        for key, value in self.node.value:
            name = str(key.value) if isinstance(key, yaml.ScalarNode) else "?"
            path = f"{self.path}.{name}" if self.path else name
            entry = replace(self, node=value, path=path, mark=key.start_mark)
            if name in entries:
                first = entries[name].mark.line + 1
                entry.wrong(f"duplicate key, first on line {first}; expected once; remove one")
            else:
                entries[name] = entry.at_scale()
        return entries

    def without(self, name: str) -> Item:
        """Return an item for a missing key: it has no value, and the place of this one."""
        path = f"{self.path}.{name}" if self.path else name
        return replace(self, node=yaml.ScalarNode(_NULL, ""), path=path)

    def at_scale(self) -> Item:
        """Return the part that counts if this one has the keys of both scales, or else itself."""
        if not isinstance(self.node, yaml.MappingNode):
            return self
        keys = [str(key.value) for key, _ in self.node.value]
        if not set(keys) & set(SCALES):
            return self
        if sorted(keys) != sorted(SCALES):
            both = " and ".join(SCALES)
            self.wrong(f"found the keys {', '.join(keys)}; expected {both}, each once and alone")
        self.choice.was_made = True
        wanted = [pair for pair in self.node.value if pair[0].value == self.choice.scale]
        # Where one is missing the other is read, so that nothing else is wrong because of that.
        key, value = (wanted or [pair for pair in self.node.value if pair[0].value in SCALES])[0]
        return replace(self, node=value, mark=key.start_mark)


def refuse_unknown(entries: Mapping[str, Item], known: Iterable[str]) -> None:
    """Note every key that has no meaning here."""
    known = list(known)
    for name, entry in entries.items():
        if name not in known:
            entry.wrong(f"unknown key; expected {one_of(known, name)}")


def one_of(known: Iterable[str], found: str) -> str:
    """List what there is to choose from, and point at the one most like what was found."""
    known = list(known)
    near = get_close_matches(found, known, n=1)
    listed = f"one of {', '.join(known)}" if known else "no key at all"
    return f"{listed}; did you mean {near[0]!r}?" if near else listed


def compose(
    text: str,
    file: str,
    scale: Scale | None = None,
    options: Mapping[str, str] | None = None,
) -> Item:
    """Parse YAML into its root item without making any object, or raise ConfigError.

    ``scale`` is the one that counts whatever the document says; for ``options`` see Problems.
    """
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise ConfigError(f"{file}{at}: {error.problem}; expected YAML") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, int(error.position)) + 1
        raise ConfigError(f"{file}:{line}: {error.reason}; expected YAML text") from None
    if node is None:
        raise ConfigError(f"{file}:1: the file is empty; expected a study with name, platforms ...")
    return Item(node, "", node.start_mark, Problems(file, options), scales.of(node, scale))
