"""Recorded texts as the document wants them, where the reference says a thing twice or less than it should."""

import re

from golden_recording import Json

BACKGROUND = " · background"
TAIL_ROWS = 4
_BLOCK = re.compile(r"    [├╰]── ")


def document_text(recorded: str, details: Json) -> str:
    """The text of a result: a tree for each task that runs, and no sentence of an error twice."""
    return as_trees("\n\n".join(_told_once(entry) for entry in recorded.split("\n\n")), details)


def as_trees(text: str, details: Json, *, is_frame: bool = False) -> str:
    """Tasks that run are a line each there (`⠋ Finder · Auth scan · background`): the tree in place of it."""
    lines = text.split("\n")
    running = [line for line in lines if line.endswith(BACKGROUND)]
    if not running:
        return text
    parts = details.get("items", [details])
    rest = [line for line in lines if not line.endswith(BACKGROUND)]
    trees = [_tree(line, part, is_frame=is_frame) for line, part in zip(running, parts, strict=True)]
    return "\n".join(["\n\n".join(trees), *rest])


def _tree(line: str, part: Json, *, is_frame: bool) -> str:
    rows = part.get("tool_rows", [])
    hidden = len(rows) - TAIL_ROWS
    earlier = [f"… {hidden} earlier tool call(s)"] if hidden > 0 else []
    said = part.get("output") or (part.get("assistant_text") if is_frame else None) or "Working..."
    children = [part["prompt"].strip(), *earlier, *(row.split("\n")[0] for row in rows[max(0, hidden) :])]
    title = line[2:].removesuffix(BACKGROUND)
    return "\n".join([f"  ⠋ {title}", *(f"    ├── {child}" for child in children), f"    ╰── {said}"])


def _told_once(entry: str) -> str:
    """An entry of an error without the lines that repeat its title or its end."""
    head, *lines = entry.split("\n")
    tail = [line for line in lines if not line.startswith("    ")]
    blocks: list[list[str]] = []
    for line in lines[: len(lines) - len(tail)]:
        if _BLOCK.match(line):
            blocks.append([])
        if blocks:
            blocks[-1].append(line[8:])
    if not head.startswith("  ✕ ") or not blocks:
        return entry
    title, end = [head[4:]], blocks[-1]
    kept = [block for block in blocks[:-1] if block not in (title, end)] + ([end] if end != title else [])
    shown = [_hung(block, is_last=block is kept[-1]) for block in kept]
    return "\n".join([head, *shown, *tail])


def _hung(block: list[str], *, is_last: bool) -> str:
    first, following = ("    ╰── ", "        ") if is_last else ("    ├── ", "    │   ")
    return "\n".join([first + block[0], *(following + line for line in block[1:])])


def without_reason(recorded: str, ours: str) -> str:
    """Our text of a payload that was refused without the reason that follows the path, if it begins as recorded."""
    if "\n" not in recorded and ours.startswith(f"{recorded}\n    ╰── {recorded[4:]}: "):
        return recorded
    told, _, end = recorded.rpartition("    ╰── ")
    before, _, shown = ours.rpartition("    ╰── ")
    sentence = " ".join(line.strip() for line in shown.split("\n"))
    is_alike = told == before and sentence.startswith(f"{end}: ") and len(sentence) > len(end) + 2
    return recorded if is_alike else ours


def refusal(ours: Json, recorded: Json) -> Json:
    """Our refusal without what the reference leaves out of its own, though it does not of others (Q38)."""
    if "error_code" not in recorded or "items" in recorded or "tool_rows" in recorded:
        return ours
    left_out = {"subagent_type", "description", "invocation", "output_available"} - recorded.keys()
    kept = {key: value for key, value in ours.items() if key not in left_out or (key == "output_available" and value)}
    told = recorded.get("error_message", "")
    if recorded["error_code"] == "invalid_task_tool_payload" and ours.get("error_message", "").startswith(f"{told}: "):
        kept["error_message"] = told
    return kept
