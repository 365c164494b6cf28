// The address of the page holds all that is chosen, so that a link shows another person the same.
import { exported } from "./source.js";

const FILTERS = ["q", "status", "profile", "session"];

/** Return the filters of the list. */
export function filters() {
  const chosen = new URLSearchParams(location.search);
  return Object.fromEntries(FILTERS.filter((name) => chosen.get(name)).map((name) => [name, chosen.get(name)]));
}

/** Return the address of the list with these filters. */
export function listPath(chosen) {
  const held = Object.entries(chosen).filter(([, value]) => value);
  return held.length ? `/?${new URLSearchParams(held)}` : "/";
}

/** Return the address of a task. */
export function taskPath(id) {
  return exported ? `#${encodeURIComponent(id)}` : `/tasks/${encodeURIComponent(id)}`;
}

/** Go to an address without loading the page anew; `replace` leaves no step to go back to. `key` is pressed there. */
export function go(path, { replace = false, key } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", path);
  dispatchEvent(new CustomEvent("moved", { detail: key }));
}
