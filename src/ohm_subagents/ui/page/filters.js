// Search and filters of the list, which the address of the page holds.
import { filters, go, listPath } from "./address.js";
import { fill, node } from "./dom.js";
import { AMONG_RUNNING, STATUSES } from "./words.js";

const TYPING_MS = 150;

/** Make the bar; `chosen()` is called after a choice. */
export function filterBar(chosen) {
  let typing;
  const choose = (change, options) => {
    go(listPath({ ...filters(), ...change }), options);
    chosen();
  };
  const typed = (name) => (event) => {
    clearTimeout(typing);
    typing = setTimeout(() => choose({ [name]: event.target.value.trim() }, { replace: true }), TYPING_MS);
  };
  const field = (name, label, type = "text") => node("input", {
    type, name, placeholder: label, "aria-label": label, autocomplete: "off", spellcheck: "false", oninput: typed(name),
  });
  const search = field("q", "Search tasks", "search");
  const profile = field("profile", "Profile");
  const session = field("session", "Session");
  const chips = node("div", { class: "chips", role: "group", "aria-label": "Status" });
  const narrower = node("span", { class: "narrower" }, profile, session);
  const more = node("button", { type: "button", class: "more-filters", "aria-expanded": "false", onclick: () => open() }, "Filters");
  const open = (is = more.getAttribute("aria-expanded") === "false") => more.setAttribute("aria-expanded", String(is));
  let counts = {};

  const show = () => {
    const held = filters();
    if (held.profile || held.session) open(true);
    for (const input of [search, profile, session]) {
      if (document.activeElement !== input) input.value = held[input.name] ?? "";
    }
    const focused = chips.contains(document.activeElement) ? document.activeElement.dataset.status : null;
    const chip = (status) => node("button", {
      type: "button", class: `chip ${status}${counts[status] ? "" : " none"}`, "data-status": status, "aria-pressed": String(held.status === status),
    }, status, node("span", { class: "count" }, String(counts[status] ?? 0)));
    const among = node("span", { class: "among" }, chip("running"), node("span", { class: "of" }, "of which"), AMONG_RUNNING.map(chip));
    fill(chips, among, STATUSES.filter((status) => !["running", ...AMONG_RUNNING].includes(status)).map(chip));
    if (focused) chips.querySelector(`[data-status="${focused}"]`)?.focus();
  };
  chips.addEventListener("click", (event) => {
    const status = event.target.closest("[data-status]")?.dataset.status;
    if (status) choose({ status: filters().status === status ? "" : status });
  });
  return {
    search,
    show,
    element: node("form", { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
      search, more, chips, narrower),
    count(found) {
      counts = found.counts;
      show();
    },
    clear() {
      for (const input of [search, profile, session]) input.value = "";
      choose({ q: "", status: "", profile: "", session: "" });
    },
  };
}
