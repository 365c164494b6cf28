// The head of a task: what it is, how it stands, what it used.
import { taskPath } from "./address.js";
import { fill, node } from "./dom.js";
import { amiss, concern, fact, mark } from "./marks.js";
import { exported } from "./source.js";
import { clock, elapsed, instant, nameOf, sentence, stuckMs } from "./words.js";

export class Head {
  constructor(cancel) {
    this.name = node("h1", { tabindex: "-1" });
    this.origin = node("p", { class: "origin", hidden: true });
    this.facts = node("p", { class: "sums" });
    this.failure = node("div", { class: "failure", hidden: true });
    this.stuck = node("p", { class: "stuck-note", hidden: true });
    this.others = node("ul", { class: "others", "aria-label": "Failed and stuck" });
    this.more = node("dl", { class: "facts" });
    this.launch = node("pre", { class: "plain" });
    this.launched = node("details", { class: "more" }, node("summary", {}, "How it was started"), this.launch);
    const copy = node("button", { type: "button", class: "small", hidden: exported, onclick: () => this.copy() }, "Copy link");
    this.copied = copy;
    this.export = node("a", { class: "button small", hidden: exported, download: "" }, "Export");
    this.element = node("header", { class: "task-head" },
      exported ? null : node("a", { class: "back", href: "/" }, "‹ Tasks"),
      node("div", { class: "title-line" }, this.name, copy, this.export, cancel), this.origin, this.facts, this.failure, this.stuck, this.others,
      node("details", { class: "more" }, node("summary", {}, "All about this task"),
        node("div", { class: "all-facts" }, this.more, this.launched)));
  }

  async copy() {
    await navigator.clipboard?.writeText(location.href);
    this.copied.textContent = "Copied";
  }

  show(picture) {
    const { task } = picture;
    this.picture = picture;
    if (this.id !== task.id) this.copied.textContent = "Copy link";
    this.id = task.id;
    if (!exported) this.export.href = `/api/tasks/${encodeURIComponent(task.id)}/export`;
    fill(this.name, mark(task), node("span", {}, nameOf(task)),
      task.description && node("span", { class: "about" }, task.description));
    this.origin.hidden = !task.continues;
    if (task.continues) {
      const first = task.origin || task.continues;
      fill(this.origin, "↪ follow-up of ", exported || !task.origin ? first : node("a", { href: taskPath(task.continues) }, first));
    }
    this.tick();
    this.failure.hidden = !task.failure;
    if (task.failure) {
      fill(this.failure, node("b", {}, task.failure.message), task.failure.advice && ` ${task.failure.advice} `,
        node("code", {}, task.failure.code));
    }
    const launch = task.facts.find(({ label }) => label === "launch");
    this.launched.hidden = !launch;
    this.launch.textContent = launch?.text ?? "";
    fill(this.more, [
      [node("dt", {}, "id"), node("dd", {}, task.id)],
      task.parent && [node("dt", {}, "started by"), node("dd", {}, node("a", { href: taskPath(task.parent) }, task.parent))],
      task.facts.filter((fact) => fact !== launch).map(({ label, text }) => [node("dt", {}, label), node("dd", {}, text)]).flat(),
      task.files.length ? [node("dt", {}, "changed"), node("dd", {}, task.files.join("\n"))] : null,
    ].flat().filter(Boolean));
  }

  /** Draw what the passing time changes. */
  tick() {
    if (!this.picture) return;
    const { task, tree, cost, unpriced, left, own_left: ownLeft } = this.picture, is = tree.length > 1;
    const all = `for all ${tree.length} tasks`, itself = is ? "for this task" : "";
    const price = (used) => used.cost_usd === null && unpriced ? "" : used.cost; // which says the same, and more
    fill(this.facts, node("span", { class: `pill ${task.status}` }, task.status), concern(task),
      fact(elapsed(task), ""), task.model && fact(task.model, ""),
      fact([price(task.used), task.used.tokens].filter(Boolean).join(" · "), itself),
      task.below && task.below + 1 < tree.length ? fact(task.tree.cost, `with ${task.below} below it`) : null,
      is ? fact(price(cost), all) : null, fact(unpriced, is ? all : ""), fact(left, is ? `left ${all}` : "left"), fact(ownLeft, `left ${itself}`),
      task.where && node("span", { title: "The process that runs this task" }, fact(task.where, "")),
      node("span", { class: "fact" }, task.started_ms === null ? "queued at " : "started at ",
        node("b", {}, instant(task.started_ms ?? task.created_ms))));
    fill(this.others, amiss(tree, task.id));
    this.others.hidden = !this.others.children.length;
    const stuck = exported ? 0 : stuckMs(task);
    this.stuck.hidden = !stuck;
    if (stuck) {
      fill(this.stuck, node("b", {}, `Stuck: nothing has come for ${clock(stuck)}.`), ` ${sentence(task.last)} `,
        "“Cancel task” stops it; a follow-up reaches it once the call that it is in has ended.");
    }
  }
}
