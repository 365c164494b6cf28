"""BM25F over the units of a tree: a word in a name counts more than one in a body (measured, not tuned further)."""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from anyio import from_thread

from ohm_subagents._backends.in_process.tools.text_file import decode, read_file
from ohm_subagents._backends.in_process.tools.tokens import Words
from ohm_subagents._backends.in_process.tools.units import Source, Unit, sources

_NAME, _DOCSTRING, _PATH, _BODY = range(4)
_WEIGHTS: Final = (4.0, 2.0, 1.5, 1.0)
_SATURATION: Final = 1.2  # k1 and b are the textbook's
_LENGTH: Final = 0.75
_TEST_SHARE: Final = 0.5  # a test restates in its name what the source does; it is not where it is done
MAX_FILE_BYTES: Final = 512_000
_MAX_TREE_BYTES: Final = 100_000_000
_MAX_COUNT: Final = 65_535  # of array('H')
_POSTING: Final = 4  # unit, count in name, in docstring, in body


@dataclass(frozen=True, slots=True)
class Hit:
    """A place that matches, best first; `weights` says how much each stem of the question is worth."""

    path: str
    unit: Unit
    score: float
    weights: dict[str, float]


@dataclass(slots=True)
class _File:
    """A file as of `stamp`. `postings` maps a stem to runs of `_POSTING` numbers; its path's stems hold for all."""

    stamp: tuple[int, int]
    units: list[Unit] = field(default_factory=list[Unit])
    lengths: list[tuple[int, int, int, int]] = field(default_factory=list[tuple[int, int, int, int]])
    path_stems: Counter[str] = field(default_factory=Counter[str])
    scope_stems: list[Counter[str]] = field(default_factory=list[Counter[str]])
    postings: dict[str, "array[int]"] = field(default_factory=dict[str, "array[int]"])
    is_test: bool = False
    is_unread: bool = False


@dataclass(slots=True)
class LeftOut:
    """How many files are not in the index: too large, beyond what one index holds, or unreadable."""

    large: int = 0
    beyond: int = 0
    unread: int = 0


class Index:
    """The units of the files of one tree. One thread at a time."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._words = Words()
        self._files: dict[str, _File] = {}

    def refresh(self, paths: Sequence[str]) -> LeftOut:
        """Read what is new or has changed, forget what is gone. A cancelled call keeps what it has read so far."""
        wanted = set(paths)
        for gone in self._files.keys() - wanted:
            del self._files[gone]
        left_out = LeftOut()
        room = _MAX_TREE_BYTES
        for path in paths:
            from_thread.check_cancelled()
            stamp = self._stamp(path)
            file = self._files.pop(path, None)
            if stamp is None:
                left_out.unread += 1
                continue
            size = stamp[1]
            if size > MAX_FILE_BYTES:
                left_out.large += 1
            elif size > room:
                left_out.beyond += 1
            else:
                room -= size
                if file is None or file.stamp != stamp:
                    file = self._read(path, stamp)
                self._files[path] = file
                left_out.unread += file.is_unread
        return left_out

    def search(self, question: str, limit: int) -> list[Hit]:
        """The best units for a question; the share of the question that matched scales the score."""
        terms = list(dict.fromkeys(self._words.stems(question)))
        weights = self._weights(terms)
        total = sum(weights.values())
        means = self._mean_lengths()
        asks_for_tests = "test" in weights
        found: list[tuple[float, str, Unit]] = []
        for path, file in self._files.items():
            from_thread.check_cancelled()
            scores: dict[int, tuple[float, float]] = {}
            for term, weight in weights.items():
                for number, counts in _occurrences(file, term):
                    frequency = _frequency(counts, file.lengths[number], means)
                    score, matched = scores.get(number, (0.0, 0.0))
                    gain = weight * frequency / (_SATURATION + frequency)
                    scores[number] = (score + gain, matched + weight)
            share = _TEST_SHARE if file.is_test and not asks_for_tests else 1.0
            found += [
                (share * score * (0.4 + 0.6 * matched / total), path, file.units[number])
                for number, (score, matched) in scores.items()
            ]
        found.sort(key=lambda item: (-item[0], item[1], item[2].start))
        return [Hit(path, unit, score, weights) for score, path, unit in found[:limit]]

    def best_lines(self, hit: Hit, limit: int) -> list[tuple[int, str]]:
        """The lines of a hit that carry most of the question, in order, read anew from the file."""
        data = read_file(self._root / hit.path, MAX_FILE_BYTES) or b""
        lines = decode(data).splitlines()
        rated = [
            (sum(hit.weights.get(stem, 0.0) for stem in set(self._words.stems(text))), number, text)
            for number, text in enumerate(lines[hit.unit.start - 1 : hit.unit.end], start=hit.unit.start)
        ]
        rated.sort(key=lambda line: (-line[0], line[1]))
        return sorted((number, text) for rate, number, text in rated[:limit] if rate > 0)

    def _stamp(self, path: str) -> tuple[int, int] | None:
        try:
            status = (self._root / path).lstat()
        except (OSError, ValueError):
            return None
        return (status.st_mtime_ns, status.st_size)

    def _read(self, path: str, stamp: tuple[int, int]) -> _File:
        file = _File(stamp=stamp, is_test=_is_test(path))
        data = read_file(self._root / path, MAX_FILE_BYTES)
        file.is_unread = data is None
        if data is None or b"\0" in data:
            return file
        file.path_stems.update(self._words.stems(path))
        counts: dict[str, list[int]] = {}
        for source in sources(path, data.decode("utf-8-sig", errors="replace")):
            self._add(file, source, counts)
        file.postings = {stem: array("H", numbers) for stem, numbers in counts.items()}
        return file

    def _add(self, file: _File, source: Source, postings: dict[str, list[int]]) -> None:
        number = len(file.units)
        if number > _MAX_COUNT:
            return
        stems = [self._words.stems(text) for text in (source.unit.name, source.docstring, source.body)]
        scope = Counter(self._words.stems(source.unit.scope))
        file.units.append(source.unit)
        file.scope_stems.append(scope)
        in_path = file.path_stems.total() + scope.total()
        file.lengths.append((len(stems[0]), len(stems[1]), in_path, len(stems[2])))
        counts = [Counter(part) for part in stems]
        for stem in dict.fromkeys(stem for part in stems for stem in part):
            numbers = (min(part[stem], _MAX_COUNT) for part in counts)
            postings.setdefault(stem, []).extend((number, *numbers))

    def _weights(self, terms: Iterable[str]) -> dict[str, float]:
        """How rare each term is among the units (idf). A term that is nowhere keeps its weight: it was not matched."""
        total = sum(len(file.units) for file in self._files.values())
        weights: dict[str, float] = {}
        for term in terms:
            from_thread.check_cancelled()
            having = sum(sum(1 for _ in _occurrences(file, term)) for file in self._files.values())
            weights[term] = math.log(1 + (total - having + 0.5) / (having + 0.5))
        return weights

    def _mean_lengths(self) -> tuple[float, ...]:
        lengths = [length for file in self._files.values() for length in file.lengths]
        count = max(len(lengths), 1)
        return tuple(max(sum(column) / count, 1e-9) for column in zip(*lengths, strict=True))


def _occurrences(file: _File, term: str) -> Iterator[tuple[int, tuple[int, int, int, int]]]:
    """The units that hold a term, with its count in each field."""
    run = file.postings.get(term, ())
    in_path = file.path_stems[term]
    if in_path or any(term in scope for scope in file.scope_stems):
        counts = {run[at]: (run[at + 1], run[at + 2], run[at + 3]) for at in range(0, len(run), _POSTING)}
        for number, scope in enumerate(file.scope_stems):
            name, docstring, body = counts.get(number, (0, 0, 0))
            if name or docstring or body or in_path or scope[term]:
                yield number, (name, docstring, in_path + scope[term], body)
        return
    for at in range(0, len(run), _POSTING):
        yield run[at], (run[at + 1], run[at + 2], 0, run[at + 3])


def _frequency(counts: tuple[int, ...], lengths: tuple[int, ...], means: tuple[float, ...]) -> float:
    """The count over all fields, each by its weight and by its length against the mean."""
    return sum(
        _WEIGHTS[part] * counts[part] / (1 - _LENGTH + _LENGTH * lengths[part] / means[part])
        for part in (_NAME, _DOCSTRING, _PATH, _BODY)
        if counts[part]
    )


def _is_test(path: str) -> bool:
    *directories, name = path.lower().split("/")
    stem = name.partition(".")[0]
    return (
        any(directory in {"test", "tests", "__tests__", "testdata", "fixtures"} for directory in directories)
        or stem.startswith("test_")
        or stem.endswith("_test")
        or stem == "conftest"
        or ".test." in name
        or ".spec." in name
    )
