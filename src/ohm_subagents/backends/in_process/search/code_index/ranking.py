"""BM25F over the units of an index: a word in a name counts more than one in a body."""

import math
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from heapq import nsmallest
from typing import Final

from ohm_subagents.backends.in_process.search.code_index.database import FIELDS
from ohm_subagents.backends.in_process.search.code_index.paths import Standing, standing
from ohm_subagents.backends.in_process.search.code_index.units import Unit
from ohm_subagents.backends.in_process.search.code_index.words import TOKENIZER, other_forms, split

_WEIGHTS: Final = (4.0, 2.0, 1.5, 1.0)  # of FIELDS
_LENGTHS: Final = (0.75, 0.75, 0.75, 0.5)  # how much a long field takes from a word in it; the textbook's b
_SATURATION: Final = 1.2  # the textbook's k1
_OTHER_FORM: Final = 0.5
_MATCHED: Final = 0.6  # of a score hangs on how much of the question matched
_NAMED: Final = 0.5  # a score grows by this, the more of the question is in the name
_WHERE: Final = re.compile(r"\bwhere\b", re.IGNORECASE)
_TEMPORARY: Final = f"""
CREATE VIRTUAL TABLE temp.occurrences USING fts5vocab (main, words, instance);
CREATE TABLE temp.forms (stem TEXT PRIMARY KEY, factor REAL NOT NULL);
CREATE VIRTUAL TABLE temp.lines USING fts5 (text, tokenize='{TOKENIZER}');
CREATE VIRTUAL TABLE temp.line_words USING fts5vocab (temp, lines, instance);
"""
_MEANS: Final = f"SELECT count(*), {', '.join(f'max(avg({field}_words), 1e-9)' for field in FIELDS)} FROM units"  # noqa: S608  names of ours
_PART: Final = "WHEN '{field}' THEN {weight} / ({fixed} + {length} * {field}_words / ?)"
_PARTS: Final = " ".join(
    _PART.format(field=field, weight=weight, fixed=1 - length, length=length)
    for field, weight, length in zip(FIELDS, _WEIGHTS, _LENGTHS, strict=True)
)
# All that is counted is counted by SQLite, which lets other threads run meanwhile.
_FREQUENCIES: Final = f"""
SELECT units.id, units.file, max(col = 'name'), sum(factor * occurred * CASE col {_PARTS} END)
FROM (
    SELECT doc, col, factor, count(*) AS occurred FROM temp.forms CROSS JOIN temp.occurrences ON term = stem
    GROUP BY stem, doc, col
) JOIN units ON units.id = doc GROUP BY doc
"""  # noqa: S608  names and numbers of ours


@dataclass(frozen=True, slots=True)
class Hit:
    """A place that matches, best first."""

    path: str
    unit: Unit
    score: float


@dataclass(frozen=True, slots=True)
class _Word:
    """A word of the question: how rare it is among the units (idf), and the stems that stand for it, with a factor."""

    weight: float
    stems: Mapping[str, float]


class Ranking:
    """A question to an index. `check` is called now and then, and may raise. Blocks: use it in a worker thread."""

    def __init__(self, connection: sqlite3.Connection, question: str, check: Callable[[], None]) -> None:
        self._connection = connection
        self._check = check
        connection.executescript(_TEMPORARY)
        self._asks_where = _WHERE.search(question) is not None
        self._asked = tuple(dict.fromkeys(split(question)))
        self._words: list[_Word] = []

    def hits(self, listed: Iterable[str], limit: int) -> list[Hit]:
        """Return the best units in the listed files."""
        units, *means = self._connection.execute(_MEANS).fetchone()
        # Numbers alone: tens of thousands of containers would have the garbage collector stop every thread.
        files: dict[int, int] = {}
        gains: defaultdict[int, float] = defaultdict(float)
        matched: defaultdict[int, float] = defaultdict(float)
        named: defaultdict[int, float] = defaultdict(float)
        for forms in self._forms():
            self._check()
            names: set[int] = set()
            frequencies = self._frequencies(forms, means, files, names)
            weight = math.log(1 + (units - len(frequencies) + 0.5) / (len(frequencies) + 0.5))
            self._words.append(_Word(weight, forms))
            for unit, frequency in frequencies.items():
                gains[unit] += weight * frequency / (_SATURATION + frequency)
                matched[unit] += weight
            for unit in names:
                named[unit] += weight
        total = sum(word.weight for word in self._words) or 1.0
        paths, standings = self._files(set(listed))
        best = nsmallest(
            limit,
            (
                (
                    self._asks_where and standings[file].is_prose,
                    -standings[file].share
                    * gain
                    * (1 - _MATCHED + _MATCHED * matched[unit] / total)
                    * (1 + _NAMED * named.get(unit, 0.0) / total),
                    paths[file],
                    unit,
                )
                for unit, gain in gains.items()
                if (file := files[unit]) in paths
            ),
        )
        return [Hit(path, self._unit(unit), -score) for _, score, path, unit in best]

    def best_lines(self, text: Sequence[str], hit: Hit, limit: int) -> list[tuple[int, str]]:
        """Return the lines of a hit that carry most of the question, in order. `text` are those of its file now."""
        self._connection.execute("DELETE FROM temp.lines")
        self._connection.executemany(
            "INSERT INTO temp.lines (rowid, text) VALUES (?, ?)",
            (
                (number, " ".join(split(line)))
                for number, line in enumerate(text[hit.unit.start - 1 : hit.unit.end], start=hit.unit.start)
            ),
        )
        rates: defaultdict[int, float] = defaultdict(float)
        for word in self._words:
            found: dict[int, float] = {}
            for stem, factor in word.stems.items():
                for (line,) in self._connection.execute("SELECT doc FROM temp.line_words WHERE term = ?", (stem,)):
                    found[line] = max(factor, found.get(line, 0.0))
            for line, factor in found.items():
                rates[line] += factor * word.weight
        best = sorted(rates, key=lambda line: (-rates[line], line))[:limit]
        return [(line, text[line - 1]) for line in sorted(best)]

    def _files(self, listed: AbstractSet[str]) -> tuple[dict[int, str], dict[int, Standing]]:
        """Return the rating of each listed file in this question, by path."""
        rows = self._connection.execute("SELECT id, path FROM files")
        paths = {number: path for number, path in rows if path in listed}
        return paths, {number: standing(path, self._asked) for number, path in paths.items()}

    def _frequencies(
        self, forms: Mapping[str, float], means: Sequence[float], files: dict[int, int], names: set[int]
    ) -> dict[int, float]:
        """Count how often each unit has a word: over all fields, each by its weight and by its length against the mean.

        Fills in the file of each of these units, and those with the word in their name.
        """
        self._connection.execute("DELETE FROM temp.forms")
        self._connection.executemany("INSERT INTO temp.forms VALUES (?, ?)", forms.items())
        frequencies: dict[int, float] = {}
        for unit, file, is_named, frequency in self._connection.execute(_FREQUENCIES, means):
            frequencies[unit] = frequency
            files[unit] = file
            if is_named:
                names.add(unit)
        return frequencies

    def _unit(self, number: int) -> Unit:
        columns = "kind, name, scope, summary, first, last"
        return Unit(*self._connection.execute(f"SELECT {columns} FROM units WHERE id = ?", (number,)).fetchone())  # noqa: S608  names of ours

    def _forms(self) -> list[dict[str, float]]:
        """Return the stems of each word of the question, each stem once."""
        found: list[dict[str, float]] = []
        taken: set[str] = set()
        for word in self._asked:
            stems = {stem: _OTHER_FORM for other in other_forms(word) for stem in self._stems(other)}
            own = self._stems(word)
            if own and not taken.issuperset(own):
                found.append(stems | dict.fromkeys(own, 1.0))
            taken.update(own)
        return found

    def _stems(self, word: str) -> list[str]:
        self._connection.execute("DELETE FROM temp.lines")
        self._connection.execute("INSERT INTO temp.lines (text) VALUES (?)", (word,))
        return [stem for (stem,) in self._connection.execute("SELECT term FROM temp.line_words ORDER BY offset")]
