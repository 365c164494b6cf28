// What one task did, entry by entry; what changes is changed in place.
import { drawnHtml, narrow, node } from "./dom.js";
import { readTranscript } from "./source.js";
import { paced } from "./stream.js";
import { MARKS, duration, instant } from "./words.js";

const ENTRY_NAMES = { guard: "guard" };
const ENTRY_STATES = { running: "running", done: "succeeded", failed: "failed", cancelled: "cancelled", warning: "asking" };
const NEAR_PX = 80;

export class Transcript {
  constructor() {
    this.list = node("ol", { class: "entries" });
    this.empty = node("p", { class: "nothing" }, "It has not said anything yet.");
    this.element = node("section", { class: "transcript", "aria-label": "Transcript", tabindex: "0" }, this.empty, this.list);
    this.newest = node("button", { type: "button", class: "link newest", hidden: true, onclick: () => this.follow() }, "Newest ↓");
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

  /** Stay at the newest end from now on. */
  follow() {
    this.follows = true;
    this.grown();
  }

  grown() {
    const { pane } = this;
    if (pane && this.follows) this.top = pane.scrollTop = pane.scrollHeight;
    this.newest.hidden = this.follows || !this.runs;
  }

  /** Stay where the reader has scrolled up to, and at the newest end for one who is there. */
  moved() {
    const { scrollTop, scrollHeight, clientHeight } = this.pane;
    if (scrollHeight - scrollTop - clientHeight < NEAR_PX) this.follows = true;
    else if (scrollTop < this.top) this.follows = false;
    this.top = scrollTop;
    this.newest.hidden = this.follows || !this.runs;
  }

  /** Show another task, or the same again. */
  open(id) {
    if (id !== this.id) {
      [this.id, this.after, this.entries, this.last] = [id, 0, new Map(), undefined];
      [this.follows, this.top] = [false, 0];
      this.list.replaceChildren();
      this.empty.hidden = false;
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
  }

  close() {
    removeEventListener("scroll", this.scrolled, { capture: true });
    this.watch.disconnect();
  }
}

/** Make an entry: a tool call in one line, with all that it said below; anything else as text. */
function drawnEntry(entry) {
  const state = entry.kind === "tool" || entry.kind === "end" ? ENTRY_STATES[entry.status] : entry.kind;
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
function drawnDiff(lines) {
  const kinds = { "+": "added", "-": "removed" };
  return node("pre", { class: "diff" }, lines.map((line) => node("span", { class: kinds[line[0]] ?? "kept" }, `${line}\n`)));
}
