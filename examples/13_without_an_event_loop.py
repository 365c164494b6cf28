"""Use subagents in a program without an event loop: a script, or a view of Django or Flask, from any thread."""

from concurrent.futures import ThreadPoolExecutor

from ohm_subagents import Err, Ohm, Ok

with Ohm.sync(config={"subagentBackend": "none"}) as ohm:

    def view(question: str) -> str:
        match ohm.run("finder", question):
            case Ok(envelope):
                return f"{envelope.prompt} {envelope.status}"
            case Err(error):
                return str(error)

    with ThreadPoolExecutor() as threads:
        print(*threads.map(view, ["Where is login?", "Where is logout?"]), sep="\n")

# Prints:
# Where is login? succeeded
# Where is logout? succeeded
