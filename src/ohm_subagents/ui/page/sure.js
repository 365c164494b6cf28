// A second question, before a click or a key ends a task; and the word for one that is being ended.
import { counted } from "./words.js";

export class Sure {
  /** `changed(is)` is called when something is asked or no longer, and with false when a label has changed alone. */
  constructor(changed) {
    this.changed = changed;
    this.id = null;
    this.ending = new Set();
  }

  /** Return true if a task is to be cancelled now: this is the second time. */
  cancels(task) {
    if (this.ending.has(task.id)) return false;
    const is = this.id === task.id;
    this.ask(is ? null : task.id);
    return is;
  }

  /** Do what ends a task, whose label says so until it has ended, or `end()` returns false. */
  async carry(id, end) {
    this.ending.add(id);
    this.changed(false);
    if (await end()) return;
    this.ending.delete(id);
    this.changed(false);
  }

  /** Ask no longer; return false if nothing was asked. */
  keep() {
    return this.id !== null && this.ask(null);
  }

  ask(id) {
    const is = this.id !== id;
    this.id = id;
    if (is) this.changed(true);
    return is;
  }

  /** Return what the button says that cancels a task. */
  label(task, usual) {
    if (this.ending.has(task.id)) return "Cancelling …";
    return this.id === task.id ? `Cancel ${counted(task.open_below + 1, "task")}?` : usual;
  }
}

/** Ask whether a task and all below it are to be cancelled. */
export function cancelQuestion(task) {
  if (!task.open_below) return "Cancel this task? Once more, or x, cancels it; Esc keeps it.";
  return `Cancel this and ${counted(task.open_below, "task")} below it? Once more, or x, cancels them all; Esc keeps them.`;
}
