// What one task did, entry by entry; what changes is changed in place.
import { drawnHtml, narrow, node } from "./dom.js";
import { readTranscript } from "./source.js";
import { paced } from "./stream.js";
import { MARKS, duration, instant } from "./words.js";

const ENTRY_NAMES = { guard: "guard" };
const ENTRY_STATES = { running: "running", done: "succeeded", failed: "failed", cancelled: "cancelled", warning: "asking",
  asking: "asking" };
const WITH_STATE = ["tool", "request", "end"];
const NEAR_PX = 80, LINE_PX = 24;

export class Transcript {
  constructor() {
    this.list = node("ol", { class: "entries" });
    this.empty = node("p", { class: "nothing" }, "It has not said anything yet.");
    this.element = node("section", { class: "transcript", "aria-label": "Transcript", tabindex: "0" }, this.empty, this.list);
    this.newest = node("button", { type: "button", class: "link newest", hidden: true, onclick: () => this.follow() });
    this.scrolled = ({ target }) => target === this.pane && this.moved();
    addEventListener("scroll", this.scrolled, { capture: true, passive: true });
    this.list.addEventListener("click", (event) => { // who opens an entry wants to read it
      if (event.target.closest("summary")) this.follows = false;
    });
    this.watch = new ResizeObserver(() => this.grown()); // entries get their heights as they come into sight
    this.watch.observe(this.list);
    this.watch.observe(this.element);
    this.read = paced(() => this.readMore());
  }

  /** What scrolls. */
  get pane() {
    return narrow.matches ? this.element.closest(".task") : this.element;
  }

  /** True until the end of the newest run is there. */
  get runs() {
    return this.last !== undefined && this.last.kind !== "end";
  }

  /** Stay at the newest end from now on; of a task that has ended, go to its answer. */
  follow() {
    if (!this.runs) this.entries.get(this.goal)?.scrollIntoView();
    this.follows = this.runs;
    this.grown();
  }

  /** The entry that matters once it has ended: its answer, or else its end. */
  get goal() {
    return this.answer ?? this.last?.id;
  }

  /** Lead to the newest end, or to the answer, while that is out of sight. */
  offer() {
    const { pane } = this, goal = this.entries.get(this.goal);
    if (!pane || !goal) return;
    const bottom = Math.min(innerHeight, pane.getBoundingClientRect().bottom);
    const isThere = this.runs ? this.follows || atEnd(pane) : goal.getBoundingClientRect().top < bottom - LINE_PX;
    this.newest.textContent = this.runs ? "Newest ↓" : this.answer === undefined ? "End ↓" : "Answer ↓";
    this.newest.hidden = isThere;
  }

  grown() {
    const { pane } = this;
    if (pane && this.follows) this.top = pane.scrollTop = pane.scrollHeight;
    this.offer();
  }

  /** Stay where the reader has scrolled up to, and at the newest end for one who is there. */
  moved() {
    const { scrollTop } = this.pane;
    if (atEnd(this.pane)) this.follows = true;
    else if (scrollTop < this.top) this.follows = false;
    this.top = scrollTop;
    this.offer();
  }

  /** Show another task, or the same again. */
  open(id) {
    if (id !== this.id) {
      [this.id, this.after, this.entries, this.last, this.answer] = [id, 0, new Map(), undefined, undefined];
      [this.follows, this.top] = [false, 0];
      this.list.replaceChildren();
      this.empty.hidden = false;
      this.newest.hidden = true;
    }
    return this.read();
  }

  async readMore() {
    const { id } = this;
    const found = await readTranscript(id, this.after).catch(() => null);
    if (!found || id !== this.id) return;
    for (const entry of found.entries) this.put(entry);
    this.empty.hidden = this.entries.size > 0;
    if (!this.after && this.runs && !narrow.matches) this.follows = true;
    this.after = found.next;
    this.grown();
  }

  put(entry) {
    const made = drawnEntry(entry), before = this.entries.get(entry.id);
    if (before) {
      const open = before.querySelector("details")?.open;
      if (open !== undefined && made.querySelector("details")) made.querySelector("details").open = open;
      before.replaceWith(made);
    } else this.list.append(made);
    this.entries.set(entry.id, made);
    if (entry.id >= (this.last?.id ?? 0)) this.last = entry;
    if (entry.kind === "answer" && entry.title === "answer") this.answer = entry.id;
  }

  close() {
    removeEventListener("scroll", this.scrolled, { capture: true });
    this.watch.disconnect();
  }
}

/** Return true where the end of what scrolls is in sight, or nearly. */
function atEnd({ scrollTop, scrollHeight, clientHeight }) {
  return scrollHeight - scrollTop - clientHeight < NEAR_PX;
}

/** Make an entry: a tool call in one line, with all that it said below; anything else as text. */
function drawnEntry(entry) {
  const state = WITH_STATE.includes(entry.kind) ? ENTRY_STATES[entry.status] : entry.kind;
  const head = [
    node("span", { class: `mark ${state}`, "aria-hidden": "true" }, MARKS[state] ?? "·"),
    ENTRY_NAMES[entry.kind] && node("span", { class: "kind" }, ENTRY_NAMES[entry.kind]),
    node("span", { class: "title" }, entry.title),
    entry.took_ms != null && node("span", { class: "took" }, duration(entry.took_ms)),
    node("time", { datetime: new Date(entry.at_ms).toISOString() }, instant(entry.at_ms)),
  ];
  const body = [
    entry.html && drawnHtml(entry.html),
    entry.diff && drawnDiff(entry.diff),
    entry.text && !(entry.diff && entry.status === "done") && node("pre", { class: "plain" }, entry.text),
  ].filter(Boolean);
  const folded = body.length > 0 && !entry.diff && ["tool", "thinking"].includes(entry.kind);
  return node("li", { class: `entry ${entry.kind} ${entry.status}`, "data-id": entry.id },
    folded ? node("details", {}, node("summary", { class: "line" }, head), body)
      : [node("div", { class: "line" }, head), body]);
}

/** Make the lines of a diff, each with the colour of its sign; the sign stays for those who see no colours. */
export function drawnDiff(lines) {
  const kinds = { "+": "added", "-": "removed" };
  return node("pre", { class: "diff" }, lines.map((line) => node("span", { class: kinds[line[0]] ?? "kept" }, `${line}\n`)));
}
