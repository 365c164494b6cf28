// The timeline of a start: a canvas for each row in sight, in one window of time for all.
import { node } from "./dom.js";
import { KINDS, duration, now } from "./words.js";

const THIN = { run: 0.5, queued: 0.16, guard: 1 };
const STEPS_MS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400].map((seconds) => seconds * 1000);
const TICK_PX = 90;
const DENIED_PX = 4;

export class Timeline {
  constructor() {
    this.spans = new Map();
    this.window = null;
  }

  /** Take the spans of the tree, and with them the time from its beginning to its end. */
  take(tree, spans) {
    this.spans = Map.groupBy(spans, (span) => span.task);
    const begun = Math.min(...tree.map((row) => row.created_ms));
    const open = tree.some((row) => row.ended_ms === null);
    this.begun = begun;
    this.ended = open ? null : Math.max(...tree.map((row) => row.ended_ms));
  }

  /** The time from the left edge to the right edge. */
  get shown() {
    const whole = [this.begun, Math.max(this.begun + 1000, this.ended ?? now())];
    return this.window ?? whole;
  }

  /** Show a part: half as much or twice as much, or moved by a share of its length; nothing for all of it. */
  zoom(factor, shift = 0, at = 0.5) {
    const [from, to] = this.shown, length = (to - from) * factor, whole = (this.ended ?? now()) - this.begun;
    const start = from + (to - from - length) * at + (to - from) * shift;
    this.window = factor > 1 && length >= whole ? null : [start, start + length];
  }

  /** Show all of it. */
  all() {
    this.window = null;
  }

  /** Draw the spans of a task on a canvas of a size; short ones are still seen. */
  paint(canvas, task, colours, size) {
    const pen = sized(canvas, size), { width, height } = size;
    const [from, to] = this.shown, scale = width / (to - from);
    for (const span of this.spans.get(task) ?? []) {
      const end = span.end_ms ?? Math.min(now(), this.ended ?? now());
      if (end < from || span.start_ms > to) continue;
      const left = Math.max(0, (span.start_ms - from) * scale);
      const wide = Math.max(span.kind === "guard" ? 3 : 1.5, (Math.min(end, to) - from) * scale - left);
      const tall = height * (THIN[span.kind] ?? 0.5);
      const failed = span.status === "failed" && span.kind !== "run", waited = span.kind === "wait";
      pen.fillStyle = failed && !waited ? colours.failed : colours[span.kind];
      pen.globalAlpha = span.kind === "run" ? 0.22 : 1;
      pen.beginPath();
      pen.roundRect(left, (height - tall) / 2, wide, tall, Math.min(3, wide / 2));
      pen.fill();
      if (!failed || !waited || end > to) continue;
      const last = Math.min(DENIED_PX, wide / 2);
      pen.fillStyle = colours.failed;
      pen.fillRect(left + wide - last, (height - tall) / 2, last, tall);
    }
    pen.globalAlpha = 1;
  }

  /** Draw the times, each counted from the beginning. */
  paintScale(canvas, colours) {
    const size = measured(canvas), pen = sized(canvas, size), { width } = size;
    const [from, to] = this.shown, scale = width / (to - from);
    const step = STEPS_MS.find((one) => one * scale >= TICK_PX) ?? Math.ceil((TICK_PX / scale) / 86_400_000) * 86_400_000;
    pen.font = `11px ${getComputedStyle(canvas).fontFamily}`;
    pen.fillStyle = colours.text;
    pen.textBaseline = "middle";
    for (let at = Math.ceil((from - this.begun) / step) * step; at <= to - this.begun; at += step) {
      const x = (at + this.begun - from) * scale;
      pen.fillRect(x, 0, 1, 5);
      const label = at ? duration(at).replace(".0s", "s") : "0";
      const wide = pen.measureText(label).width, isLast = x + 4 + wide > width;
      pen.fillText(label, isLast ? x - 4 - wide : x + 4, 9);
    }
  }

  /** Return the span of a task under a place of its canvas; the innermost where there are several. */
  under(task, canvas, x) {
    const [from, to] = this.shown, per = (to - from) / canvas.clientWidth, at = from + x * per;
    return (this.spans.get(task) ?? []).filter((span) =>
      span.start_ms - 3 * per <= at && (span.end_ms ?? now()) + 3 * per >= at).at(-1);
  }

  /** Say in words what the spans of a task are, for those who do not see them. */
  words(task) {
    const sums = new Map();
    for (const { kind, start_ms, end_ms } of this.spans.get(task) ?? []) {
      const [count, ms] = sums.get(kind) ?? [0, 0];
      sums.set(kind, [count + 1, ms + (end_ms ?? now()) - start_ms]);
    }
    return [...sums].map(([kind, [count, ms]]) => `${count} × ${KINDS[kind] ?? kind}, ${duration(ms)}`).join("; ");
  }
}

/** Say what a span is, with its length. */
export function spanText(span) {
  const took = span.kind === "guard" ? "" : ` · ${duration((span.end_ms ?? now()) - span.start_ms)}`;
  return `${KINDS[span.kind] ?? span.kind}: ${span.label}${took}${span.status === "done" ? "" : ` · ${span.status}`}`;
}

/** Read the colours of the kinds, as the theme has them now. */
export function spanColours() {
  const style = getComputedStyle(document.documentElement);
  const names = [...Object.keys(KINDS), "failed"];
  const found = names.map((name) => [name, style.getPropertyValue(`--span-${name}`).trim()]);
  return { ...Object.fromEntries(found), text: style.getPropertyValue("--muted").trim() };
}

const MEANT = {
  wait: "It waits for an answer, a free slot, a provider that asked to slow down, or a budget",
  guard: "A guard against loops or costs has warned the task, or ended it",
  queued: "It waits for its turn",
  failed: "A call or a request to a model failed; at the end of a wait, the answer was no",
};

/** Make the key to the colours. */
export function legend() {
  const kinds = [...Object.keys(KINDS).filter((kind) => kind !== "run"), "failed"];
  return node("p", { class: "legend", "aria-hidden": "true" },
    kinds.map((kind) => node("span", { class: "key", "data-kind": kind, title: MEANT[kind] ?? KINDS[kind] }, kind)));
}

/** Return the size of a canvas as the style has it. The first look after a change costs a layout. */
export function measured(canvas) {
  return { width: canvas.clientWidth, height: canvas.clientHeight };
}

function sized(canvas, { width, height }) {
  const ratio = devicePixelRatio || 1;
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}
