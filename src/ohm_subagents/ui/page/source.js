// Where the page's data is from: the server, or the file itself, if it is an export.
import { setClock } from "./words.js";

const inlined = document.getElementById("ohm-data");
const kept = inlined && JSON.parse(inlined.textContent);

/** True in an exported file: nothing is asked of a server, and nothing can be steered. */
export const exported = kept !== null;

async function asked(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { credentials: "same-origin", ...options });
  } catch {
    throw new Error("ohm does not answer. Is `ohm ui` still running?");
  }
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(body.error?.message ?? `ohm answered ${response.status}`);
  setClock(body.now_ms);
  return body;
}

/** Read a part of the list of tasks (`TaskPage`). */
export function readTasks(filters, offset, limit) {
  return asked(`/api/tasks?${new URLSearchParams({ ...filters, offset, limit })}`);
}

/** Read a task with the tree of its start (`TaskPicture`), `near` of these tasks whole, or all. */
export async function readTask(id, near) {
  if (!exported) return asked(`/api/tasks/${encodeURIComponent(id)}${near ? `?near=${near}` : ""}`);
  const { picture } = kept;
  setClock(picture.now_ms);
  const row = picture.tree.find((one) => one.id === id);
  return row && id !== picture.task.id ? { ...picture, own_left: "", task: { ...row, error: null, facts: [], files: [] } } : picture;
}

/** Read what a task did after a change (`TranscriptPage`). */
export async function readTranscript(id, after) {
  if (!exported) return asked(`/api/tasks/${encodeURIComponent(id)}/transcript?after=${after}`);
  return { entries: after ? [] : kept.transcripts[id] ?? [], next: 1 };
}

/** Read what tasks used, added up (`CostPage`). */
export async function readCost(by) {
  return exported ? kept.costs[by] : asked(`/api/cost?by=${by}`);
}

/** Ask the server to do something with a task or a request. */
export function act(path, body = {}) {
  return asked(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

/** Return the id of the task that the file is about, and the time at which it was made. */
export function exportedTask() {
  return { id: kept.picture.task.id, at: kept.exported_ms };
}
