// The keyboard: keys of the page, and the dialog that lists them.
import { node } from "./dom.js";
import { exported } from "./source.js";

const HELP = [["/", "search"], ["j k", "next, previous"], ["Enter", "open"], ["Esc", "back, or clear the filters"],
  ["s", "send a follow-up"], ["a", "answer what waits"], ["x", "cancel the task"],
  ["c", "cost"], ["t", "tasks"], ["?", "this help"]];
const TYPED = "input, textarea, select";

/** Hand keys to the view that is open; `travel(path)` opens another. */
export function listen(view, travel) {
  const help = dialog();
  document.body.append(help);
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (event.target.matches(TYPED)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
    if (event.key.startsWith("Arrow") && !event.target.closest(".rows")) return;
    const pages = exported ? {} : { c: "/cost", t: "/" };
    if (event.key === "?") help.showModal();
    else if (pages[event.key]) travel(pages[event.key]);
    else if (!view()?.key(event.key)) return;
    event.preventDefault();
  });
  return () => help.showModal();
}

function dialog() {
  return node("dialog", { class: "help", "aria-label": "Keys" }, node("h2", {}, "Keys"),
    node("dl", {}, HELP.map(([key, what]) => [node("dt", {}, key.split(" ").map((one) => node("kbd", {}, one))),
      node("dd", {}, what)]).flat()),
    node("form", { method: "dialog" }, node("button", { class: "primary" }, "Close")));
}
