// One task: the tree of its start beside the timeline, its transcript, and what can be done with it.
import { go, taskPath } from "./address.js";
import { fill, node, say } from "./dom.js";
import { Head } from "./head.js";
import { Requests } from "./requests.js";
import { exported, readTask } from "./source.js";
import { Steer } from "./steer.js";
import { follow, paced } from "./stream.js";
import { Transcript } from "./transcript.js";
import { Tree } from "./tree.js";
import { nameOf, stuckMs } from "./words.js";

const NEAR = 40;

export class TaskView {
  title = "Task";

  constructor(main, connected, id, key) {
    this.connected = connected;
    this.tree = new Tree((chosen) => this.choose(chosen));
    this.steer = new Steer((answer) => this.steered(answer));
    this.head = new Head(this.steer.cancel);
    this.requests = new Requests(() => this.renew());
    this.transcript = new Transcript();
    this.trouble = node("div", { class: "nothing", role: "alert", hidden: true });
    this.page = node("div", { class: "task", hidden: true }, this.head.element,
      node("div", { class: "panes" }, this.requests.element, this.tree.element,
        node("div", { class: "pane" }, this.transcript.element, this.transcript.newest, this.steer.element)));
    main.append(this.trouble, this.page);
    this.renew = paced(() => this.read());
    this.clock = setInterval(() => this.tick(), 1000);
    this.open(id, key);
  }

  /** Show a task; `key` is pressed once it is there. */
  open(id, key) {
    [this.id, this.wished] = [id, key];
    this.stop?.();
    this.stop = follow(id, { changed: (kind, data) => this.changed(kind, data), connected: this.connected });
    this.steer.tell("");
    this.transcript.open(id);
    return this.renew();
  }

  moved(id) {
    if (!id) return false;
    if (id !== this.id) this.open(id);
    return true;
  }

  /** Choose a task of the tree; the address follows. */
  choose(id) {
    if (id !== this.id) go(taskPath(id));
    this.tree.reveal(id);
  }

  async read() {
    const { id } = this;
    try {
      const picture = await readTask(id, this.painted ? 0 : NEAR);
      if (id !== this.id) return;
      this.show(picture);
      if (picture.is_whole === false) this.renew();
    } catch (error) {
      if (id !== this.id) return;
      fill(this.trouble, this.page.hidden && node("h1", {}, "This task cannot be shown"), node("p", {}, error.message),
        exported ? null : node("p", {}, node("a", { href: "/" }, "All tasks")));
      this.trouble.hidden = false;
    }
  }

  show(picture) {
    const { task } = picture, before = this.status;
    this.trouble.hidden = true;
    this.page.hidden = false;
    document.title = `${nameOf(task)} · ${task.description || task.id} · ohm`;
    this.head.show(picture);
    this.tree.show(picture, task.id);
    this.requests.show(exported ? [] : picture.requests, picture.tree, task.id);
    this.steer.show(task);
    if (before && before !== task.status && this.told === task.id) say(`${nameOf(task)}: ${task.status}`);
    if (this.told !== task.id) this.tree.reveal(task.id);
    [this.status, this.told] = [task.status, task.id];
    if (!this.painted) performance.mark("ohm-task");
    this.painted = true;
    const { wished } = this;
    this.wished = null;
    if (wished) this.key(wished);
  }

  changed(kind, data) {
    if (kind === "told") this.steer.tell(data.message);
    else if (kind === "tree" || kind === "all" || data.ids?.includes(this.id)) {
      this.renew();
      this.transcript.open(this.id);
    }
  }

  steered(answer) {
    if (answer.task && answer.task !== this.id) go(taskPath(answer.task));
    else this.renew();
  }

  tick() {
    const stuck = this.tree.tree.filter((row) => stuckMs(row)).length;
    if (stuck !== this.stuck) this.renew(); // it gets stuck without an event, and the server counts
    this.stuck = stuck;
    this.tree.tick();
    this.head.tick();
  }

  key(key) {
    const keys = {
      j: () => this.tree.step(1), ArrowDown: () => this.tree.step(1),
      k: () => this.tree.step(-1), ArrowUp: () => this.tree.step(-1),
      Enter: () => this.tree.focused && this.choose(this.tree.focused),
      s: () => !this.steer.form.hidden && !exported && this.steer.prompt.focus(),
      a: () => this.requests.focus() || say("Nothing waits for an answer."),
      x: () => this.steer.end(),
      Escape: () => !exported && go("/"),
    };
    if (key !== "x" && this.steer.sure.keep() && key === "Escape") return true;
    keys[key]?.();
    return key in keys;
  }

  close() {
    clearInterval(this.clock);
    this.stop();
    this.tree.close();
    this.transcript.close();
  }
}
