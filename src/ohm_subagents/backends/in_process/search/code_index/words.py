"""Words of code and of questions. SQLite's tokenizer makes stems of them: `truncation` and `isTruncated` share one."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

TOKENIZER: Final = "porter unicode61"
_WORD: Final = re.compile(r"[^\W_]+")
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+|\d+")
_MAX_KNOWN: Final = 200_000
_MAX_WORD_CHARS: Final = 64

# English that carries no topic, and the words that a question about code is asked with
_STOP_WORDS: Final = """
a above an and any are as at be been but by can choose chosen could decide decided decides did do does doing done each
for from get gets goes got had has have how i if in into is it its itself just let longer looked may me might must my no
not of on once one only or other our out over own shall she he should so some such than that the their them then there
these they this those through to too turned under until up us use used uses using very was we were what when where
whether which while who whom whose why will with would you your
code define defined defines exact exactly explain file files find function functions happen happening happens
implement implements locate located method methods place places please show tell
"""
_STOP: Final = frozenset(_STOP_WORDS.split())

# What programmers write for a word, each line a word and its short forms; in a question either stands for the other
_SHORT_FORMS: Final = """
application app
argument arg
asynchronous async
attribute attr
authentication auth
authorization auth
callback cb
character char
command cmd
configuration config conf cfg
connection conn
context ctx
database db
definition def
dependency dep
destination dest dst
dictionary dict
directory dir
documentation docs doc
environment env environ
error err
exception exc
expression expr
extension ext
function func fn
identifier id ident
implementation impl
index idx
information info
initialize init
language lang
length len
library lib
maximum max
memory mem
message msg
minimum min
number num
object obj
operation op
option opt
package pkg
parameter param
password passwd pwd
position pos
previous prev
process proc
reference ref
repository repo
request req
response resp
sequence seq
source src
specification spec
string str
synchronous sync
temporary tmp temp
transaction tx
utility util
value val
variable var
version ver
"""


def _others() -> dict[str, tuple[str, ...]]:
    others: dict[str, tuple[str, ...]] = {}
    for long, *short in map(str.split, _SHORT_FORMS.strip().splitlines()):
        for each in (long, f"{long.removesuffix('y')}ies" if long.endswith("y") else f"{long}s"):
            others[each] = tuple(short)
        for each in short:
            others[each] = (*others.get(each, ()), long)
    return others


_OTHERS: Final = _others()


def split(text: str) -> Iterator[str]:
    """The words of `text` in order, in small letters: identifiers split at case and underscore, stop words left out."""
    for word in _WORD.findall(text):
        yield from _parts(word)


def other_forms(word: str) -> tuple[str, ...]:
    """Give the other names that a word of a question may have in code."""
    return _OTHERS.get(word, ())


@lru_cache(_MAX_KNOWN)
def _parts(word: str) -> tuple[str, ...]:
    if len(word) > _MAX_WORD_CHARS:  # a hash or encoded data
        return ()
    return tuple(part for part in (part.lower() for part in _PART.findall(word)) if part not in _STOP)
