// The pieces that lists, trees and heads share: a mark for each state, and facts in a line.
import { taskPath } from "./address.js";
import { node } from "./dom.js";
import { MARKS, clock, nameOf, stateOf, stuckMs } from "./words.js";

const NOTICED = 4;

/** Make the mark of a row's state; those who listen hear it as a word. */
export function mark(row) {
  const state = stateOf(row);
  return node("span", { class: `mark ${state}` },
    node("span", { "aria-hidden": "true" }, MARKS[state] ?? "·"),
    node("span", { class: "unseen" }, `${state}: `));
}

/** Say that a row asks, or how long it has been stuck; empty if nothing is amiss. */
export function concern(row) {
  if (stateOf(row) === "asking") return node("strong", { class: "concern" }, "asking");
  const stuck = stuckMs(row);
  return stuck ? node("strong", { class: "concern" }, `stuck for ${clock(stuck)}`) : null;
}

/** Make a name with the title of its task; of one that goes on with another, first what it was asked then. */
export function titled(row) {
  const again = row.follow_up && [node("span", { "aria-hidden": "true" }, "↪ "), node("span", { class: "unseen" }, "follow-up: "),
    node("span", { class: "again" }, row.follow_up), row.description ? ` · ${row.description}` : ""];
  const said = again || row.description;
  return [node("b", {}, nameOf(row)), said ? node("span", { class: "about", title: row.description }, said) : null];
}

/** Make a number with its name, such as `12 running`. */
export function fact(value, name) {
  return value === "" || value == null ? null : node("span", { class: "fact" }, node("b", {}, value), ` ${name}`);
}

/** Return the rows below a task of a tree, which come behind it. */
export function below(tree, id) {
  const at = tree.findIndex((row) => row.id === id);
  const end = tree.findIndex((row, place) => place > at && row.depth <= tree[at].depth);
  return at < 0 ? [] : tree.slice(at + 1, end < 0 ? tree.length : end);
}

/** Lead to the tasks below one that have failed or are stuck, each with its reason. */
export function amiss(tree, id) {
  const rows = below(tree, id).filter((row) => row.status === "failed" || stateOf(row) === "stuck");
  const shown = rows.slice(0, NOTICED).map((row) => node("li", {}, mark(row), node("span", {},
    node("a", { href: taskPath(row.id) }, row.title), " ",
    concern(row), row.error || row.last)));
  return rows.length > NOTICED ? [...shown, node("li", {}, `… and ${rows.length - NOTICED} more in the tree`)] : shown;
}
