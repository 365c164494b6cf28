// What can be done with a task: a follow-up, a cancellation, a link to it.
import { byTouch, node } from "./dom.js";
import { act, exported } from "./source.js";
import { Sure, cancelQuestion } from "./sure.js";

export class Steer {
  /** `done(answer)` is called with what the server answers. */
  constructor(done) {
    this.done = done;
    this.sure = new Sure((is) => this.asked(is));
    this.outcome = node("p", { class: "outcome", role: "status" });
    this.prompt = node("textarea", { rows: "2", "aria-label": "Follow-up", placeholder: byTouch.matches ? "Follow-up" : "Follow-up (Ctrl+Enter sends it)",
      onkeydown: (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.send();
      } });
    this.cancel = node("button", { type: "button", class: "danger", onclick: () => this.end() });
    this.work = node("div", { class: "work", hidden: true },
      node("button", { type: "button", class: "primary", onclick: () => this.act("land") }, "Land its changes"),
      node("button", { type: "button", class: "danger", onclick: () => this.act("discard") }, "Discard its changes"));
    this.form = node("form", { class: "follow-up", "aria-label": "Follow-up",
      onsubmit: (event) => { event.preventDefault(); this.send(); } },
    this.prompt, node("button", { class: "primary" }, "Send"));
    this.element = node("div", { class: "steer", hidden: exported }, this.outcome, this.work, this.form);
  }

  show(task) {
    if (this.id !== task.id || !task.can_cancel) this.sure.keep();
    [this.id, this.task] = [task.id, task];
    this.cancel.hidden = exported || !task.can_cancel;
    this.cancel.textContent = this.sure.label(task, "Cancel task");
    this.work.hidden = !task.can_land;
    this.form.hidden = !task.can_send;
  }

  /** Ask whether the task is to be cancelled; the second time, cancel it. */
  end() {
    if (!this.cancel.hidden && this.sure.cancels(this.task)) this.sure.carry(this.id, () => this.act("cancel"));
  }

  asked(is) {
    if (is) this.tell(this.sure.id ? cancelQuestion(this.task) : "");
    this.cancel.textContent = this.sure.label(this.task, "Cancel task");
  }

  async send() {
    const prompt = this.prompt.value.trim();
    if (prompt && await this.act("send", { prompt })) this.prompt.value = "";
  }

  async act(what, body = {}) {
    this.outcome.textContent = "Sent …";
    try {
      const answer = await act(`/api/tasks/${encodeURIComponent(this.id)}/${what}`, body);
      this.outcome.textContent = answer.message;
      this.done(answer);
      return true;
    } catch (error) {
      this.outcome.textContent = error.message;
      return false;
    }
  }

  /** Write something below the follow-up, such as what came of it. */
  tell(text) {
    this.outcome.textContent = text;
  }
}
