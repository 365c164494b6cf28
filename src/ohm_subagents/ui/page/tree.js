// The tree of a start beside its timeline: one row for each task, of which only those in sight are drawn.
import { fill, narrow, node } from "./dom.js";
import { concern, mark, titled } from "./marks.js";
import { Scroller } from "./scroller.js";
import { Timeline, legend, measured, spanColours, spanText } from "./timeline.js";
import { counted, elapsed, fewTokens, stateOf } from "./words.js";

const DEEPEST = 6;
const FEW = 5, FEW_AROUND = 3;
const AMISS = new Set(["failed", "asking", "stuck"]);

export class Tree {
  /** `chosen(id)` is called with the task that somebody chooses. */
  constructor(chosen) {
    this.chosen = chosen;
    this.tree = [];
    this.shown = [];
    this.timeline = new Timeline();
    this.scroller = new Scroller("Tasks of this start", "tree", (index) => this.row(index), (rows) => this.paint(rows));
    this.scroller.resized = () => this.tree.length && this.repaint();
    this.widened = () => this.tree.length && this.place();
    narrow.addEventListener("change", this.widened);
    this.all = node("button", { type: "button", class: "link all", hidden: true, onclick: () => this.showAll() });
    this.scale = node("canvas", { class: "scale", "aria-hidden": "true" });
    this.sums = node("p", { class: "sums" });
    this.tip = node("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.key = legend();
    this.head = node("div", { class: "tree-head" }, this.sums, this.zoomButtons());
    this.ruler = node("div", { class: "ruler" }, this.key, this.scale);
    this.element = node("section", { class: "start", "aria-label": "Tree and timeline" },
      this.head, this.ruler, this.scroller.box, this.all, this.tip);
    this.element.addEventListener("click", (event) => this.clicked(event));
    this.scroller.box.addEventListener("pointermove", (event) => this.pointed(event));
    this.scroller.box.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    this.scroller.box.addEventListener("wheel", (event) => this.wheeled(event), { passive: false });
  }

  zoomButtons() {
    const button = (label, text, zoom) => node("button", { type: "button", class: "small", "aria-label": label, title: label,
      onclick: () => { zoom(); this.repaint(); } }, text);
    return node("div", { class: "zoom", role: "group", "aria-label": "Timeline" },
      button("Earlier", "‹", () => this.timeline.zoom(1, -0.5)), button("Zoom in", "+", () => this.timeline.zoom(0.5)),
      button("Zoom out", "−", () => this.timeline.zoom(2)), button("Later", "›", () => this.timeline.zoom(1, 0.5)),
      button("Show all", "all", () => this.timeline.all()));
  }

  show(picture, id) {
    this.tree = picture.tree;
    this.counts = picture.counts;
    this.id = id;
    this.timeline.take(picture.tree, picture.spans);
    this.arrange(this.tree.length === 1);
    this.sum();
    this.place();
  }

  /** Put the key to the colours beside the times, or, with one task alone, above them: these have all of the width then. */
  arrange(alone) {
    if (alone === this.alone) return;
    this.alone = alone;
    this.element.classList.toggle("alone", alone);
    (alone ? this.head : this.ruler).prepend(this.key);
  }

  /**
   * Show all rows; on a narrow page, which scrolls as a whole, a few until somebody wants more: the chosen one, below the
   * top those that need somebody, and its neighbours.
   */
  place() {
    const at = this.tree.findIndex((row) => row.id === this.id), isBelow = this.tree[at]?.depth > 0;
    const most = narrow.matches && !this.isWhole ? (isBelow ? FEW_AROUND : FEW) : this.tree.length;
    const rank = (row, place) => (place === at ? 0 : !isBelow && AMISS.has(stateOf(row)) ? 1 : 1 + Math.abs(place - at));
    const wanted = this.tree.map((row, place) => [rank(row, place), place]).sort(([one], [other]) => one - other);
    this.places = wanted.slice(0, most).map(([, place]) => place).sort((one, other) => one - other);
    this.shown = this.places.map((place) => this.tree[place]);
    this.all.hidden = most >= this.tree.length;
    this.all.textContent = `Show all ${this.tree.length} tasks`;
    this.element.style.setProperty("--tasks", this.shown.length);
    this.scroller.refresh(this.shown.length);
    this.repaint();
  }

  showAll() {
    this.isWhole = true;
    this.place();
    this.scroller.reveal(Math.max(0, this.shown.findIndex((row) => row.id === this.id)));
  }

  /** Say how the whole start stands, and lead to those that need somebody. */
  sum() {
    const counts = this.counts;
    const jump = (state) => {
      const first = counts[state] ? this.tree.find((row) => stateOf(row) === state) : null;
      return first && node("button", { type: "button", class: `link ${state === "failed" ? "failed" : "concern"}`,
        "data-task": first.id }, `${counts[state]} ${state}`);
    };
    fill(this.sums, node("b", {}, counted(this.tree.length, "task")),
      ["running", "queued", "succeeded", "cancelled"].filter((state) => counts[state]).map((state) =>
        node("span", { class: `fact ${state}` }, `${counts[state]} ${state}`)),
      ["failed", "asking", "stuck"].map(jump));
  }

  row(index) {
    const row = this.shown[index], chosen = row.id === this.id;
    const amiss = concern(row);
    return node("div", {
      class: `row ${row.status}${chosen ? " chosen" : ""}`, role: "treeitem", "data-task": row.id,
      "aria-level": row.depth + 1, "aria-selected": String(chosen), tabindex: chosen ? "0" : "-1",
      "aria-setsize": this.tree.length, "aria-posinset": this.places[index] + 1,
      "--depth": Math.min(row.depth, DEEPEST),
    },
    node("div", { class: "node" },
      mark(row),
      node("span", { class: "what" }, titled(row)),
      node("span", { class: "number took" }, elapsed(row)),
      node("span", { class: "number cost" }, row.below ? node("small", {}, "own ") : null, (row.used.cost_usd === null && fewTokens(row.used)) || row.used.cost),
      node("span", { class: "doing", title: row.error || row.last || null }, amiss, row.error || row.last)),
    node("canvas", { class: "track", "data-task": row.id, "aria-hidden": "true" }),
    node("span", { class: "unseen" }, this.timeline.words(row.id)));
  }

  /** Draw the spans of rows, which are all of one size: looking at each would be a layout for each. */
  paint(rows) {
    if (!rows.length) return;
    this.colours ??= spanColours();
    const canvases = rows.map((row) => row.querySelector("canvas")), size = measured(canvases[0]);
    for (const canvas of canvases) this.timeline.paint(canvas, canvas.dataset.task, this.colours, size);
  }

  /** Draw the spans of all rows in sight, after the window of time or the colours have changed. */
  repaint() {
    this.colours = spanColours();
    this.timeline.paintScale(this.scale, this.colours);
    this.paint([...this.scroller.shown.values()]);
  }

  clicked(event) {
    const id = event.target.closest("[role=treeitem], button[data-task]")?.dataset.task;
    if (id) this.chosen(id);
  }

  pointed(event) {
    const canvas = event.target.closest("canvas");
    const span = canvas && this.timeline.under(canvas.dataset.task, canvas, event.offsetX);
    this.tip.hidden = !span;
    if (!span) return;
    this.tip.textContent = spanText(span);
    this.tip.style.setProperty("--x", `${event.clientX}px`);
    this.tip.style.setProperty("--y", `${event.clientY}px`);
    this.tip.classList.toggle("left", event.clientX > innerWidth / 2);
  }

  wheeled(event) {
    const canvas = event.target.closest("canvas");
    if (!canvas || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    this.timeline.zoom(event.deltaY < 0 ? 0.8 : 1.25, 0, event.offsetX / canvas.clientWidth);
    this.repaint();
  }

  /** Draw what the passing time has changed. */
  tick() {
    if (this.tree.every((row) => row.ended_ms !== null)) return;
    this.sum();
    this.scroller.refresh();
    this.repaint();
  }

  /** Move the focus by a number of rows. */
  step(by) {
    const at = this.scroller.focused;
    const from = at < 0 ? this.shown.findIndex((row) => row.id === this.id) : at;
    this.scroller.reveal(Math.max(0, Math.min(this.shown.length - 1, from + by)));
  }

  /** Return the id of the row with the focus. */
  get focused() {
    return this.shown[this.scroller.focused]?.id;
  }

  reveal(id) {
    this.scroller.reveal(this.shown.findIndex((row) => row.id === id), { focus: false });
  }

  close() {
    narrow.removeEventListener("change", this.widened);
    this.scroller.close();
  }
}
