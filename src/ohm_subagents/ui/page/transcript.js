// What one task did, entry by entry; what changes is changed in place.
import { drawnHtml, node } from "./dom.js";
import { readTranscript } from "./source.js";
import { paced } from "./stream.js";
import { MARKS, duration, instant } from "./words.js";

const ENTRY_NAMES = { guard: "guard" };
const ENTRY_STATES = { running: "running", done: "succeeded", failed: "failed", cancelled: "cancelled", warning: "held" };
const NEAR_PX = 80;

export class Transcript {
  constructor() {
    this.list = node("ol", { class: "entries" });
    this.empty = node("p", { class: "nothing" }, "It has not said anything yet.");
    this.element = node("section", { class: "transcript", "aria-label": "Transcript", tabindex: "0" }, this.empty, this.list);
    this.read = paced(() => this.readMore());
  }

  /** Show another task, or the same again. */
  open(id) {
    if (id !== this.id) {
      [this.id, this.after, this.entries] = [id, 0, new Map()];
      this.list.replaceChildren();
      this.empty.hidden = false;
    }
    return this.read();
  }

  async readMore() {
    const { id } = this;
    const found = await readTranscript(id, this.after).catch(() => null);
    if (!found || id !== this.id) return;
    const pane = this.element, atEnd = pane.scrollHeight - pane.scrollTop - pane.clientHeight < NEAR_PX;
    for (const entry of found.entries) this.put(entry);
    this.empty.hidden = this.entries.size > 0;
    if (atEnd && this.after) pane.scrollTop = pane.scrollHeight;
    this.after = found.next;
  }

  put(entry) {
    const made = drawnEntry(entry), before = this.entries.get(entry.id);
    if (before) {
      const open = before.querySelector("details")?.open;
      if (open !== undefined && made.querySelector("details")) made.querySelector("details").open = open;
      before.replaceWith(made);
    } else this.list.append(made);
    this.entries.set(entry.id, made);
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
