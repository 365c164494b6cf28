// The requests that wait for an answer: a tool call to approve, or a question.
import { taskPath } from "./address.js";
import { fill, node, say } from "./dom.js";
import { below } from "./marks.js";
import { act } from "./source.js";
import { drawnDiff } from "./transcript.js";
import { duration, nameOf, now } from "./words.js";

const APPROVALS = [
  ["call", "Approve once", "This call only"],
  ["task", "For this task", "This call, and the same call later in this task and in those below it"],
  ["always", "Always", "This call, and the same call in every task from now on"],
];

export class Requests {
  constructor(answered) {
    this.answered = answered;
    this.cards = new Map();
    this.elsewhere = node("p", { class: "elsewhere", role: "status" });
    this.element = node("section", { class: "requests", "aria-label": "Waiting for an answer", hidden: true }, this.elsewhere);
  }

  /** Show those of a task and of the tasks below it, and leave alone what somebody may be typing into. */
  show(requests, tree, id) {
    const near = new Set([id, ...below(tree, id).map((row) => row.id)]);
    this.place(requests.filter(({ task }) => near.has(task)), tree);
    this.count(requests.length - this.cards.size, tree);
    this.element.hidden = requests.length === 0;
  }

  /** Lead to the other ones of the tree: to its root, whose page has all of them. */
  count(others, tree) {
    const roots = tree.filter((row) => !row.depth);
    const href = roots.length === 1 ? taskPath(roots[0].id) : "/?status=asking";
    fill(this.elsewhere, others
      ? node("a", { href }, `${others} ${others === 1 ? "other waits" : "others wait"} for your answer`) : null);
    this.elsewhere.hidden = !others;
  }

  place(requests, tree) {
    const open = new Set(requests.map((request) => request.id));
    for (const [id, card] of this.cards) {
      if (open.has(id)) continue;
      card.remove();
      this.cards.delete(id);
    }
    for (const request of requests.filter(({ id }) => !this.cards.has(id))) {
      const card = this.card(request, tree.find((row) => row.id === request.task));
      this.cards.set(request.id, card);
      this.elsewhere.before(card);
      say(`${nameOf(request)} waits for an answer: ${request.title}`);
    }
  }

  card(request, row) {
    const outcome = node("p", { class: "outcome", role: "status" });
    const answer = async (body) => {
      outcome.textContent = "Sent …";
      try {
        const done = await act(`/api/requests/${encodeURIComponent(request.id)}/answer`, body);
        outcome.textContent = done.message;
        this.answered();
      } catch (error) {
        outcome.textContent = error.message;
      }
    };
    const waits = request.expires_ms ? `denied in ${duration(request.expires_ms - now())} if nobody answers` : "";
    return node("article", { class: "asking", "data-request": request.id },
      node("h2", {}, node("a", { href: taskPath(request.task) }, row?.title ?? nameOf(request)),
        request.kind === "question" ? " asks" : [" wants to run ", node("code", {}, request.tool)]),
      request.kind === "question" ? node("p", { class: "asked" }, request.title)
        : request.subject && node("pre", { class: "asked" }, request.subject),
      request.diff.length ? drawnDiff(request.diff) : null,
      request.arguments && request.kind === "tool"
        ? node("details", {}, node("summary", {}, "All of the call"), node("pre", { class: "plain" }, request.arguments))
        : null,
      node("p", { class: "why" }, [request.kind === "question" ? "" : request.reason, waits].filter(Boolean).join(" · ")),
      request.kind === "question" ? question(request, answer) : approval(answer), outcome);
  }

  /** Bring the first one into focus; return false if there is none. */
  focus() {
    const first = this.element.querySelector("button, input") ?? this.elsewhere.querySelector("a");
    first?.focus();
    return Boolean(first);
  }
}

function approval(answer) {
  const reason = node("input", { type: "text", "aria-label": "Reason for a denial", placeholder: "Reason, if you deny it" });
  const deny = () => answer({ answer: "deny", text: reason.value });
  return node("div", { class: "answers" },
    APPROVALS.map(([scope, label, title], at) => node("button", { type: "button", class: at ? "" : "primary", title,
      "aria-label": at ? `Approve ${label.toLowerCase()}` : label, onclick: () => answer({ answer: "approve", scope }) }, label)),
    node("span", { class: "denial" }, reason, node("button", { type: "button", class: "danger", onclick: deny }, "Deny")));
}

function question(request, answer) {
  const text = node("input", { type: "text", name: "text", "aria-label": "Answer", placeholder: "Your answer" });
  const given = (words) => words.trim() && answer({ answer: "text", text: words });
  return node("form", { class: "answers", onsubmit: (event) => { event.preventDefault(); given(text.value); } },
    request.options.map((option) => node("button", { type: "button", onclick: () => given(option) }, option)),
    text, node("button", { class: "primary" }, "Answer"),
    node("button", { type: "button", class: "danger", onclick: () => answer({ answer: "deny", text: "" }) }, "Deny"));
}
