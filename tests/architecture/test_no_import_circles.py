"""No module imports itself through others, inside a package or across packages; imports for types count too."""

from collections.abc import Iterator, Mapping, Sequence

import grimp


def circles(imports: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Each largest set of modules that all reach each other (Tarjan's strongly connected components)."""
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []

    def visit(module: str) -> Iterator[list[str]]:
        index[module] = lowest[module] = len(index)
        stack.append(module)
        for imported in imports[module]:
            if imported not in index:
                yield from visit(imported)
                lowest[module] = min(lowest[module], lowest[imported])
            elif imported in stack:
                lowest[module] = min(lowest[module], index[imported])
        if lowest[module] == index[module]:
            at = stack.index(module)
            found = stack[at:]
            del stack[at:]
            if len(found) > 1:
                yield sorted(found)

    for module in imports:
        if module not in index:
            yield from visit(module)


def test_no_import_goes_in_a_circle() -> None:
    graph = grimp.build_graph("ohm_subagents", cache_dir=None)
    imports = {module: sorted(graph.find_modules_directly_imported_by(module)) for module in sorted(graph.modules)}
    assert [*circles(imports)] == []


def test_a_circle_is_found() -> None:
    imports = {"a": ["b"], "b": ["c", "d"], "c": ["a"], "d": ["e"], "e": []}
    assert [*circles(imports)] == [["a", "b", "c"]]
