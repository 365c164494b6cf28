// The live events of the server. After a loss the page says so, tries again, and reads everything anew.
import { exported } from "./source.js";
import { setClock } from "./words.js";

const FIRST_MS = 500;
const LONGEST_MS = 8_000;

/** Follow the events until the function that is returned is called. */
export function follow(task, { changed, connected }) {
  if (exported) return () => {};
  let source, again, delay = FIRST_MS;
  const open = () => {
    source = new EventSource(`/api/stream${task ? `?task=${encodeURIComponent(task)}` : ""}`);
    source.onopen = () => {
      delay = FIRST_MS;
      connected(true);
    };
    source.addEventListener("hello", (event) => {
      setClock(JSON.parse(event.data).now_ms);
      changed("all", {}); // what was read before may be older than what is told from now on
    });
    source.onerror = () => {
      source.close();
      connected(false);
      again = setTimeout(open, delay);
      delay = Math.min(delay * 2, LONGEST_MS);
    };
    for (const kind of ["tasks", "tree", "gone", "told"]) {
      source.addEventListener(kind, (event) => changed(kind, JSON.parse(event.data)));
    }
  };
  open();
  return () => {
    clearTimeout(again);
    source.close();
  };
}

/** Call `read` after a change, again if more has changed meanwhile; the slower it is, the less often. */
export function paced(read) {
  let running = false, wanted = false;
  return async function pace() {
    wanted = true;
    if (running) return;
    running = true;
    while (wanted) {
      wanted = false;
      const began = performance.now();
      await read();
      await new Promise((resolve) => setTimeout(resolve, Math.max(100, 3 * (performance.now() - began))));
    }
    running = false;
  };
}
