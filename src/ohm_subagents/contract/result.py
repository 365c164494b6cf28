"""The one place that imports `result`: its upstream is unmaintained, so it must stay replaceable.

Consume a `Result` with `match` (`case Ok(value)` / `case Err(error)`) or `isinstance(outcome, Err)`.
"""

from result import Err, Ok, Result

__all__ = ["Err", "Ok", "Result"]
