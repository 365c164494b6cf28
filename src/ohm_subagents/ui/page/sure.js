// A second question, before one click or key ends several tasks.
import { counted } from "./words.js";

export class Sure {
  /** `changed()` is called when something is asked, or no longer. */
  constructor(changed) {
    this.changed = changed;
    this.id = null;
  }

  /** Return true if a task is to be cancelled now: nothing below it goes on, or this is the second time. */
  cancels(task) {
    const is = !task.open_below || this.id === task.id;
    this.ask(is ? null : task.id);
    return is;
  }

  /** Ask no longer; return false if nothing was asked. */
  keep() {
    return this.id !== null && this.ask(null);
  }

  ask(id) {
    const is = this.id !== id;
    this.id = id;
    if (is) this.changed();
    return is;
  }

  /** Return what the button says that cancels a task. */
  label(task, usual) {
    return this.id === task.id ? `Cancel ${counted(task.open_below + 1, "task")}?` : usual;
  }
}

/** Ask whether a task and all below it are to be cancelled. */
export function cancelQuestion(task) {
  return `Cancel this and ${counted(task.open_below, "task")} below it? Once more, or x, cancels them all; Esc keeps them.`;
}
