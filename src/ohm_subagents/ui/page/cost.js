// What all tasks used, by profile, model, day or session: bars, each with its numbers beside it.
import { go } from "./address.js";
import { fill, node } from "./dom.js";
import { exported, readCost } from "./source.js";
import { follow, paced } from "./stream.js";

const KEYS = ["profile", "model", "day", "session"];
const COLUMNS = [["tasks", "tasks"], ["requests", "requests"], ["input_tokens", "tokens in"], ["cached_tokens", "cached"],
  ["output_tokens", "tokens out"], ["tool_calls", "tool calls"]];

export class CostView {
  title = "Cost";

  constructor(main, connected) {
    this.by = node("div", { class: "chips", role: "group", "aria-label": "Add up by" });
    this.table = node("table", { class: "cost" });
    this.trouble = node("p", { class: "nothing", role: "alert", hidden: true });
    main.append(node("section", { class: "costs", "aria-label": "Cost" },
      node("h1", { tabindex: "-1" }, "Cost"), this.by, this.trouble, node("div", { class: "wide", role: "region", "aria-label": "Numbers", tabindex: "0" }, this.table),
      node("p", { class: "swipe" }, "Tokens and tool calls are further right in the table.")));
    this.by.addEventListener("click", (event) => {
      const by = event.target.closest("[data-by]")?.dataset.by;
      if (by) go(exported ? `#cost-${by}` : `/cost?by=${by}`);
    });
    this.renew = paced(() => this.read());
    this.stop = follow(null, { changed: this.renew, connected });
    this.renew();
  }

  get chosen() {
    const asked = exported ? location.hash.slice("#cost-".length) : new URLSearchParams(location.search).get("by");
    return KEYS.includes(asked) ? asked : KEYS[0];
  }

  moved() {
    this.renew();
    return true;
  }

  async read() {
    try {
      this.show(await readCost(this.chosen));
    } catch (error) {
      this.trouble.textContent = error.message;
      this.trouble.hidden = false;
    }
  }

  show(page) {
    this.trouble.hidden = true;
    const keys = exported ? ["profile", "model"] : KEYS;
    const focused = this.by.contains(document.activeElement);
    fill(this.by, keys.map((key) => node("button", { type: "button", class: "chip", "data-by": key,
      "aria-pressed": String(key === page.by) }, key)));
    if (focused) this.by.querySelector("[aria-pressed=true]")?.focus();
    const most = Math.max(...page.rows.map(amount), Number.MIN_VALUE);
    const numbers = ({ tasks, used }) => COLUMNS.map(([field]) =>
      node("td", { class: "number" }, (field === "tasks" ? tasks : used[field]).toLocaleString("en")));
    const cost = ({ used }) => node("td", { class: "number" }, used.cost || "–");
    fill(this.table,
      node("caption", { class: "unseen" }, `What all tasks used, by ${page.by}`),
      node("thead", {}, node("tr", {}, node("th", { scope: "col" }, page.by), node("th", { scope: "col" }, "cost"),
        node("td", { class: "bars", "aria-hidden": "true" }),
        COLUMNS.map(([, name]) => node("th", { scope: "col", class: "number" }, name)))),
      node("tbody", {}, page.rows.map((row) => node("tr", {}, node("th", { scope: "row", title: row.name, class: page.by }, node("bdi", {}, row.name)), cost(row),
        node("td", { class: "bars", "aria-hidden": "true" }, node("span", { class: "bar", "--share": amount(row) / most })),
        numbers(row)))),
      node("tfoot", {}, node("tr", {}, node("th", { scope: "row" }, "all"), cost({ used: page.all }), node("td", { class: "bars" }),
        numbers({ tasks: page.tasks, used: page.all }))));
  }

  key() {
    return false;
  }

  close() {
    this.stop();
  }
}

/** Return what a bar is long for: dollars, or tokens where nothing was priced. */
function amount({ used }) {
  return used.cost_usd === null ? (used.input_tokens + used.output_tokens) / 1e9 : Number(used.cost_usd);
}
