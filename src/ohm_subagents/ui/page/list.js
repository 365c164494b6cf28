// The list of tasks: read a part at a time, as far as one scrolls; changed in place by live events.
import { filters, go, taskPath } from "./address.js";
import { fill, node, say } from "./dom.js";
import { filterBar } from "./filters.js";
import { concern, fact, mark, titled } from "./marks.js";
import { Scroller } from "./scroller.js";
import { act, readTasks } from "./source.js";
import { follow, paced } from "./stream.js";
import { Sure, cancelQuestion } from "./sure.js";
import { ago, counted, elapsed, fewTokens, instant, nameOf, noun, stuckMs, sum } from "./words.js";

const PART = 100, DEEPEST_SHOWN = 6;
const HEADS = [["what", "task"], ["model", "model"], ["began", "created"], ["took", "took"], ["tokens", "tokens"], ["cost", "cost"]];

export class ListView {
  title = "Tasks";

  constructor(main, connected) {
    this.parts = new Map();
    this.sure = new Sure((is) => this.asked(is));
    this.bar = filterBar(() => this.reload());
    this.sums = node("p", { class: "sums" });
    this.scroller = new Scroller("Tasks", "list", (index) => this.row(index), () => this.readSight());
    this.outcome = node("p", { class: "outcome", role: "status" });
    this.nothing = node("p", { class: "nothing", hidden: true });
    this.table = node("div", { class: "table" },
      node("div", { class: "heads", "aria-hidden": "true" }, HEADS.map(([name, text]) => node("span", { class: name }, text))),
      this.scroller.box);
    main.append(node("section", { class: "list", "aria-label": "Tasks", onclick: (event) => this.clicked(event) },
      node("h1", { class: "unseen" }, "Tasks"), this.bar.element, this.sums, this.outcome, this.nothing, this.table));
    this.renew = paced(() => this.readAnew());
    this.stop = follow(null, { changed: (kind, data) => this.changed(kind, data), connected });
    this.clock = setInterval(() => this.tick(), 1000);
    this.reload();
  }

  reload() {
    this.bar.show();
    this.scroller.box.scrollTop = 0;
    this.renew();
  }

  /** Let the clocks go on; a task that gets stuck does so without an event. */
  tick() {
    this.scroller.refresh();
    const stuck = [...this.parts.values()].flat().filter((row) => stuckMs(row)).length;
    if (stuck !== this.stuck) this.renew();
    this.stuck = stuck;
  }

  moved() {
    this.reload();
    return true;
  }

  async readAnew() {
    const asked = JSON.stringify(filters());
    const [first] = this.scroller.sight;
    const part = Math.floor(first / PART);
    try {
      const found = await readTasks(filters(), part * PART, PART);
      if (asked !== JSON.stringify(filters())) return;
      this.parts = new Map([[part, found.tasks]]);
      this.show(found);
    } catch (error) {
      fill(this.sums, node("strong", { class: "concern" }, error.message));
    }
  }

  show(found) {
    this.bar.count(found);
    const isAny = found.total > 0, isFiltered = Object.keys(filters()).length > 0;
    fill(this.sums, !isAny && isFiltered ? fact("0", `of ${counted(found.kept, "task")}`) : fact(found.total.toLocaleString("en"), filters().status ? `of ${counted(sum(found.counts), "task")}` : noun(found.total, "task")),
      filters().status || !isAny ? null : fact(found.counts.running ?? 0, "running"), fact(found.used.cost, ""), fact(found.used.tokens, ""),
      isAny ? node("span", { class: "how" }, "Open a task to answer it, to send it a follow-up, or to land or discard its changes.") : null);
    this.nothing.hidden = isAny;
    this.table.hidden = !isAny;
    fill(this.nothing, isFiltered
      ? [`No task is like that; ${counted(found.kept, "task")} ${found.kept === 1 ? "is" : "are"} kept. `,
        node("button", { type: "button", class: "small", onclick: () => this.bar.clear() }, "Clear the filters")]
      : "No task has been kept yet. Start one with: ohm run finder \"Where is …?\"");
    this.scroller.refresh(found.total);
    if (!this.painted) performance.mark("ohm-list");
    this.painted = true;
  }

  /** Read the parts in sight that are not here yet. */
  async readSight() {
    if (!this.painted) return;
    const [first, last] = this.scroller.sight;
    for (const part of new Set([Math.floor(first / PART), Math.floor(Math.max(first, last) / PART)])) {
      if (this.parts.has(part)) continue;
      this.parts.set(part, []);
      const kept = this.parts;
      try {
        const found = await readTasks(filters(), part * PART, PART);
        if (kept !== this.parts) return;
        kept.set(part, found.tasks);
        this.scroller.refresh(found.total);
      } catch {
        kept.delete(part); // asked for again with the next row that is scrolled to
      }
    }
  }

  task(index) {
    return this.parts.get(Math.floor(index / PART))?.[index % PART];
  }

  row(index) {
    const task = this.task(index);
    const place = { role: "listitem", tabindex: "-1", "aria-setsize": this.scroller.total, "aria-posinset": index + 1 };
    if (!task) return node("div", { class: "row empty", ...place }, "…");
    return node("div", { class: `row ${task.status}${task.below ? " leads" : ""}`, ...place },
      mark(task),
      node("a", { class: "what", href: taskPath(task.id) },
        task.parent && node("span", { class: "below", "--depth": Math.min(task.depth, DEEPEST_SHOWN) }, "↳"), titled(task)),
      node("span", { class: "doing" }, concern(task), task.error || task.last),
      node("span", { class: "where", title: task.where ? "The process that runs this task" : null }, task.where),
      task.ended_ms === null && node("span", { class: "acts" },
        task.asks ? node("a", { class: "button small", href: taskPath(task.id) }, "Answer") : null,
        node("button", { type: "button", class: "small danger", "data-task": task.id },
          this.sure.label(task, "Cancel"))),
      node("span", { class: "model" }, task.model),
      node("time", { class: "number began", datetime: new Date(task.created_ms).toISOString(), title: instant(task.created_ms) },
        node("span", { class: "unseen" }, "created "), ago(task.created_ms)),
      node("span", { class: "number took" }, elapsed(task)),
      node("span", { class: "number tokens", title: task.tree.tokens }, fewTokens(task.tree)),
      node("span", { class: "number cost" }, task.tree.cost),
      task.below ? node("span", { class: "with" }, `with ${task.below} below`, node("span", { class: "it" }, " it")) : null);
  }

  clicked(event) {
    const id = event.target.closest("button[data-task]")?.dataset.task;
    const task = this.found(id);
    if (task) this.cancel(task);
    else this.sure.keep();
  }

  /** The first task that asks, of those that have been read. */
  get asking() {
    return [...this.parts.values()].flat().find((row) => row.asks);
  }

  /** Open a task and press a key there; without one, say why not. */
  visit(task, key, otherwise) {
    if (task) go(taskPath(task.id), { key });
    else this.outcome.textContent = otherwise;
  }

  found(id) {
    return [...this.parts.values()].flat().find((row) => row.id === id);
  }

  /** Draw what is asked, or that it is no longer. */
  asked(is) {
    const task = this.found(this.sure.id);
    if (is) this.outcome.textContent = task ? `${task.title}: ${cancelQuestion(task)}` : "";
    this.scroller.refresh();
  }

  /** Ask whether a task is to be cancelled; the second time, cancel it. */
  async cancel(task) {
    if (task.ended_ms !== null || !this.sure.cancels(task)) return;
    await this.sure.carry(task.id, async () => {
      const told = await act(`/api/tasks/${encodeURIComponent(task.id)}/cancel`).catch((error) => error);
      this.outcome.textContent = `${task.title}: ${told.message}`;
      return !(told instanceof Error);
    });
  }

  /** Change rows in place; anything else is read anew. */
  changed(kind, data) {
    const places = new Map();
    for (const rows of this.parts.values()) rows.forEach((row, at) => places.set(row.id, [rows, at]));
    for (const row of data.tasks ?? []) {
      const [rows, at] = places.get(row.id) ?? [];
      if (rows && rows[at].status !== row.status) say(`${nameOf(row)}: ${row.status}. ${row.description}`);
      if (rows) rows[at] = row;
    }
    this.scroller.refresh();
    this.renew();
  }

  /** Do what a key stands for; return false for a key that means nothing here. */
  key(key) {
    const at = this.scroller.focused;
    if (key !== "x" && this.sure.keep() && key === "Escape") return true;
    if (key === "j" || key === "ArrowDown") this.scroller.reveal(at + 1);
    else if (key === "k" || key === "ArrowUp") this.scroller.reveal(Math.max(0, at - 1));
    else if (key === "Enter" && at >= 0 && this.task(at)) go(taskPath(this.task(at).id));
    else if (key === "x" && at >= 0 && this.task(at)) this.cancel(this.task(at));
    else if (key === "a") this.visit(this.task(at) ?? this.asking, "a", "Nothing waits for an answer.");
    else if (key === "s") this.visit(this.task(at), "s", "Choose a task first, with j and k.");
    else if (key === "/") this.bar.search.focus();
    else if (key === "Escape") this.bar.clear();
    else return false;
    return true;
  }

  close() {
    clearInterval(this.clock);
    this.stop();
    this.scroller.close();
  }
}

