"""The words of the rows about themselves: a name that leads nowhere would be a target that nobody judges."""

import ast

import pytest
from measure import HERE
from rows import ROWS


@pytest.fixture(params=ROWS)
def row(request):
    return ROWS[request.param]


def test_what_a_case_is_measured_beside_is_a_case_of_its_row(row):
    names = [case.name for case in row.cases]
    assert len(names) == len(set(names))
    beside = [case.beside for case in row.cases if case.beside is not None]
    compared = [name for each in row.compared for name in (each.of, each.beside)]
    assert {*beside, *compared} <= {*names}


def test_a_target_about_a_ratio_names_what_it_is_a_ratio_to(row):
    assert all(case.at_most is None or (case.beside is not None and case.target is None) for case in row.cases)


def test_every_case_is_a_function_of_its_file_that_takes_its_arguments(row):
    for case in row.cases:
        tree = ast.parse((HERE / "subjects" / case.file).read_text(encoding="utf-8"))
        functions = {node.name: node.args for node in tree.body if isinstance(node, ast.AsyncFunctionDef)}
        taken = {argument.arg for argument in (*functions[case.function].args, *functions[case.function].kwonlyargs)}
        assert {*case.arguments} <= taken, case.name
