// Durations and marks, in the words of the terminal.

export const MARKS = { succeeded: "✓", failed: "✕", cancelled: "○", queued: "…", running: "", asking: "?", stuck: "!" };
export const STATUSES = ["running", "asking", "stuck", "queued", "succeeded", "failed", "cancelled"];
export const AMONG_RUNNING = ["asking", "stuck"];
export const KINDS = { model: "model request", tool: "tool call", wait: "wait", guard: "guard", queued: "queued", run: "run" };
const STUCK_MS = 30_000;
const TIME_OF_DAY = new Intl.DateTimeFormat([], { timeStyle: "medium", hour12: false });
let serverAhead = 0;

/** Keep the time of the server, by which all clocks of the page go. */
export function setClock(nowMs) {
  if (nowMs != null) serverAhead = nowMs - Date.now();
}

/** Return the time of now, in epoch milliseconds. */
export function now() {
  return Date.now() + serverAhead;
}

/** Write `12.3s`, `3m 05s`, `2h 05m` or `4d 02h`; less than a tenth is `0s`. */
export function duration(ms) {
  const two = (number) => String(number).padStart(2, "0");
  const seconds = Math.floor(Math.max(0, ms) / 1000);
  if (ms < 100) return "0s";
  if (seconds < 60) return `${(Math.floor(Math.max(0, ms) / 100) / 10).toFixed(1)}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m ${two(seconds % 60)}s`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours}h ${two(minutes % 60)}m` : `${Math.floor(hours / 24)}d ${two(hours % 24)}h`;
}

/** Write a duration that goes on, in whole seconds. */
export function clock(ms) {
  return ms < 60_000 ? `${Math.floor(Math.max(0, ms) / 1000)}s` : duration(ms);
}

/** Write the local time of day, with the date where it is another day. */
export function instant(ms) {
  const at = new Date(ms);
  const day = at.toDateString() === new Date(now()).toDateString() ? "" : `${at.toLocaleDateString()} `;
  return day + TIME_OF_DAY.format(at);
}

/** Write how long ago a time is, in the largest unit that fits: `12s ago`. */
export function ago(ms) {
  const seconds = Math.max(0, Math.floor((now() - ms) / 1000));
  const [unit, length] = [["d", 86_400], ["h", 3_600], ["m", 60]].find(([, one]) => seconds >= one) ?? ["s", 1];
  return `${Math.floor(seconds / length)}${unit} ago`;
}

/** Return a text that ends as a sentence does. */
export function sentence(text) {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** Return the name of a profile, as a title begins with it. */
export function nameOf({ profile }) {
  return profile.charAt(0).toUpperCase() + profile.slice(1);
}

/** Write `task` or `tasks`. */
export function noun(number, one) {
  return number === 1 ? one : `${one}s`;
}

/** Write `1 task` or `2 tasks`. */
export function counted(number, one) {
  return `${number.toLocaleString("en")} ${noun(number, one)}`;
}

/** Write tokens in few characters: `9,120 tokens`, `225k tokens`, `24.0M tokens`; nothing for none. */
export function fewTokens(used) {
  const number = used.input_tokens + used.output_tokens;
  if (!number) return "";
  if (number < 100_000) return counted(number, "token");
  return number < 999_500 ? `${Math.round(number / 1000)}k tokens` : `${(number / 1_000_000).toFixed(1)}M tokens`;
}

/** Return how many tasks there are by their counts; those that wait for an answer or are stuck run too. */
export function sum(counts) {
  return STATUSES.filter((status) => !AMONG_RUNNING.includes(status)).reduce((all, status) => all + counts[status], 0);
}

/** Return the time a task has taken, as text; of one that has not begun, the time it has waited. */
export function elapsed(row) {
  return row.ended_ms === null ? clock(now() - (row.started_ms ?? row.created_ms)) : duration(row.elapsed_ms);
}

/** Return `asking` for a task that waits for an answer, `stuck` for one without progress, else its status. */
export function stateOf(row) {
  if (row.asks && row.status === "running") return "asking";
  return stuckMs(row) ? "stuck" : row.status;
}

/** Return how long a task has been stuck; 0 for one that is not. */
export function stuckMs(row) {
  if (row.status !== "running" || row.asks || row.progress_ms == null) return 0;
  const ms = now() - row.progress_ms;
  return row.is_stuck || ms > STUCK_MS ? ms : 0;
}
