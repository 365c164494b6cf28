"""Settings of the documentation: `sphinx-build -W --keep-going docs docs/_build`."""

from __future__ import annotations

import gc
import re
from importlib import import_module
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard, get_type_hints

from docutils import nodes
from pydantic import BaseModel
from pygments.lexers.data import JsonLexer

if TYPE_CHECKING:
    from docutils.nodes import Element
    from sphinx.addnodes import pending_xref
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

gc.set_threshold(100_000, 5, 1000)  # half of a build is the collector's time else, in trees that nobody has dropped yet

project = "ohm-subagents"
author = "The ohm-subagents authors"
copyright = author
release = installed_version("ohm-subagents")
version = release

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinxcontrib.mermaid"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "ohm-subagents"
html_show_copyright = False
html_copy_source = False

myst_enable_extensions = ["colon_fence"]
myst_fence_as_directive = ["mermaid"]
myst_heading_anchors = 3

# The docstrings are Markdown of the plain kind: `name` is code there, and a fence is a block of code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_default_options = {
    "members": True,
    "undoc-members": True,
    "inherited-members": "BaseModel,Enum,Exception,Protocol,object,str,tuple",
    "exclude-members": "model_config",
}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

nitpicky = True
# Types of the standard library and of other projects are named without a link: a build needs no network.
# A type variable has no place to link to.
nitpick_ignore_regex = [
    ("py:.*", r"(?!ohm_subagents\.).*"),
    ("py:.*", r"ohm_subagents\._.*"),
    ("py:class", r".*\.DataT"),
]

PAGES = {page.stem for page in (Path(__file__).parent / "reference" / "api").glob("*.md")} - {
    "adapters",  # a room of modules with functions of the same names
    "ohm",
}
FIRST = ("contract", "plugin", "suite")  # a name at several doors is documented at the first of them
DOORS = ("ohm_subagents", *(f"ohm_subagents.{name}" for name in (*FIRST, *sorted(PAGES - {*FIRST}))))
FENCE = re.compile(r"^( *)```(\w+)$")
FIELD = re.compile(r"^([\w, ]+):")
LIST = re.compile(r" *(- .*|  .*)?$")  # an item, more of one, or an empty line


def as_restructured_text(
    _app: Sphinx, _kind: str, _name: str, _object: object, _options: object, lines: list[str]
) -> None:
    """Make directives of fences and a list of `Fields:`, and give each list the empty line that it needs before it."""
    made: list[str] = []
    is_code = is_fields = False
    for line in lines:
        fence = FENCE.match(line)
        is_fields = line == "Fields:" or (is_fields and line.startswith("    "))
        if line == "Fields:":
            made.append("")
        elif is_fields:
            made.append(FIELD.sub(r"- **\1**:", line[4:]) if FIELD.match(line[4:]) else f"  {line.strip()}")
        elif fence and not is_code:
            made += ["", f"{fence[1]}.. code-block:: {fence[2]}", ""]
            is_code = True
        elif is_code:
            is_code = line.strip() != "```"
            made.append(f"    {line}" if is_code else "")
        else:
            if line.lstrip().startswith("- ") and made and not LIST.match(made[-1]):
                made.append("")
            made.append(line)
    lines[:] = made


def public_name(app: Sphinx, env: BuildEnvironment, node: pending_xref, inside: Element) -> Element | None:
    """Link a type by its public name, whichever module defines it; a constant or an alias has no place to link to."""
    target = node["reftarget"]
    name = target.rpartition(".")[2]
    if node["refdomain"] != "py" or ("." in target and not target.startswith("ohm_subagents.")):
        return None
    objects = env.domains.python_domain.objects
    home = next((objects[f"{door}.{name}"] for door in DOORS if f"{door}.{name}" in objects), None)
    if home:
        page = app.builder.get_relative_uri(env.docname, home.docname)
        return nodes.reference("", "", inside, internal=True, refuri=f"{page}#{home.node_id}")
    return inside if any(name in import_module(door).__all__ for door in DOORS) else None


def without_validators(_app: Sphinx) -> None:
    """Show the fields of pydantic models by their types alone; what a value has to be is in the table of the fields."""
    for model in (value for door in DOORS for value in vars(import_module(door)).values() if is_model(value)):
        plain = get_type_hints(model)
        model.__annotations__ |= {name: plain[name] for name in model.__annotations__}


def is_model(value: object) -> TypeGuard[type[BaseModel]]:
    """Return True for a pydantic model."""
    return isinstance(value, type) and issubclass(value, BaseModel)


def documented_once(app: Sphinx, kind: str, name: str, value: object, *_: object) -> bool | None:
    """Leave out what an earlier door documents."""
    door = str(app.env.current_document.autodoc_module)
    earlier = DOORS[: DOORS.index(door)] if kind == "module" and door in DOORS else ()
    return (
        any(name in import_module(one).__all__ and getattr(import_module(one), name) is value for one in earlier)
        or None
    )


def setup(app: Sphinx) -> None:
    """Register what is above."""
    app.add_lexer("jsonc", JsonLexer)
    app.connect("builder-inited", without_validators)
    app.connect("autodoc-process-docstring", as_restructured_text, priority=1)
    app.connect("autodoc-skip-member", documented_once)
    app.connect("missing-reference", public_name)
