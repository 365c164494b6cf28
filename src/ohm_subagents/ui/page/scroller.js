// Rows of one height, of which only those in sight, and the one with the focus, are in the document: ten thousand are no
// more work than twenty.
import { node } from "./dom.js";

const SPARE = 6;
const USUAL_HEIGHT = 56;
const WITHIN = "a, button";

export class Scroller {
  /** `draw(index)` makes a row; `placed(rows)` is called with those that have come into sight or have changed. */
  constructor(label, role, draw, placed = () => {}) {
    this.rows = node("div", { class: "rows", role, "aria-label": label });
    this.box = node("div", { class: "scroller" }, this.rows);
    this.draw = draw;
    this.placed = placed;
    this.total = 0;
    this.shown = new Map();
    this.scrolled = ({ target }) => target.contains(this.box) && this.place();
    addEventListener("scroll", this.scrolled, { capture: true, passive: true }); // of the box, or of what it is in
    this.watch = new ResizeObserver(() => {
      this.refresh();
      this.resized?.();
    });
    this.watch.observe(this.box);
  }

  /** The height of a row, as the style has it for this width of the page. */
  get height() {
    return parseFloat(getComputedStyle(this.box).getPropertyValue("--row")) || USUAL_HEIGHT;
  }

  /** The first and the last index in sight. */
  get sight() {
    const { height, box } = this, { top: above, bottom } = box.getBoundingClientRect();
    const top = box.scrollTop + Math.max(0, -above);
    const last = Math.ceil((top + Math.min(bottom, innerHeight) - Math.max(above, 0)) / height) + SPARE;
    return [Math.max(0, Math.floor(top / height) - SPARE), Math.min(this.total - 1, last)];
  }

  /** The index of the row with the focus, -1 for none. */
  get focused() {
    const row = this.rows.contains(document.activeElement) && document.activeElement.closest("[data-index]");
    return row ? Number(row.dataset.index) : -1;
  }

  /** Set the number of rows, and draw anew what has changed of those in sight. */
  refresh(total = this.total) {
    const focused = this.focused;
    this.total = total;
    this.rows.style.setProperty("--total", total);
    const [first, last] = this.sight, changed = [];
    for (const [index, row] of this.shown) {
      if ((index < first || index > last) && (index !== focused || index >= total)) continue;
      const fresh = this.made(index);
      if (fresh.drawn === row.drawn) continue;
      const held = [...row.querySelectorAll(WITHIN)].indexOf(document.activeElement);
      row.replaceWith(fresh);
      fresh.querySelectorAll(WITHIN)[held]?.focus({ preventScroll: true });
      this.shown.set(index, fresh);
      changed.push(fresh);
    }
    this.place(changed, focused);
    if (focused >= 0 && this.focused < 0) this.shown.get(focused)?.focus({ preventScroll: true });
  }

  /** Draw the rows that have come into sight, in their order, and drop those that have left it, but the one with the focus. */
  place(changed = [], kept = this.focused) {
    const [first, last] = this.sight;
    const beside = kept >= 0 && kept < this.total && (kept < first || kept > last) ? [kept] : [];
    for (const [index, row] of this.shown) {
      if ((index >= first && index <= last) || beside.includes(index)) continue;
      row.remove();
      this.shown.delete(index);
    }
    const wanted = Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at).concat(beside);
    let after = null;
    for (const index of wanted.sort((one, other) => other - one)) {
      let row = this.shown.get(index);
      if (!row) {
        row = this.made(index);
        this.shown.set(index, row);
        changed.push(row);
        this.rows.insertBefore(row, after);
      }
      after = row;
    }
    this.placed(changed);
  }

  made(index) {
    const row = this.draw(index);
    row.dataset.index = index;
    row.style.setProperty("--at", index);
    row.drawn = row.outerHTML; // a canvas changes when it is painted
    return row;
  }

  /** Bring a row into sight and, if asked, give it the focus. */
  reveal(index, { focus = true } = {}) {
    if (index < 0 || index >= this.total) return;
    const { height, box } = this, top = index * height;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + height > box.scrollTop + box.clientHeight) box.scrollTop = top + height - box.clientHeight;
    this.place([], focus ? index : this.focused);
    if (focus) this.shown.get(index)?.focus({ preventScroll: box.scrollHeight > box.clientHeight });
  }

  close() {
    removeEventListener("scroll", this.scrolled, { capture: true });
    this.watch.disconnect();
  }
}
