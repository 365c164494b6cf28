"""The arithmetic of repeats: where their median lies, and whether that meets a target."""

from math import comb
from statistics import median

LEEWAY = 0.1
"""So much of its target a median may be unknown by and still be judged."""


def interval(values):
    """The median of all the repeats that could be made lies between these, 19 times of 20.

    Of sorted values, each is below that median as often as a coin falls heads, whatever their distribution is; so two
    of them enclose it. Of fewer than six values not even the outermost are as sure, but there are no others.
    """
    ordered, count = sorted(values), len(values)
    outside, at_least = 0, 1
    for heads in range(count // 2):
        outside += 2 * comb(count, heads)
        if outside > 0.05 * 2**count:
            break
        at_least = heads + 1
    return ordered[at_least - 1], ordered[-at_least]


def is_too_wide(values, target):
    """Return True if the target lies within the interval, and that is too wide to leave the word to its median."""
    low, high = interval(values)
    return low <= target < high and high - low > LEEWAY * target


def verdict(values, target):
    """`yes`, `no: x of y`, or that nobody can tell."""
    if is_too_wide(values, target):
        return "too noisy to judge"
    middle = median(values)
    return "yes" if middle <= target else f"no: {number(middle)} of {number(target)}"


def number(value):
    """Three digits, for people."""
    for limit, digits in ((100, 0), (10, 1), (1, 2), (0.01, 3)):
        if abs(value) >= limit:
            return f"{value:,.{digits}f}"
    return f"{value:.2g}"
