// The page: opens the view that the address names, and stays until another one is named.
import { go } from "./address.js";
import { CostView } from "./cost.js";
import { fill, node } from "./dom.js";
import { listen } from "./keys.js";
import { ListView } from "./list.js";
import { exported, exportedTask } from "./source.js";
import { TaskView } from "./task.js";
import { instant } from "./words.js";

const main = document.getElementById("main");
const connection = document.querySelector(".connection");
let open;

function connected(is) {
  connection.classList.toggle("lost", !is);
  connection.textContent = is ? "live" : "not connected, trying again …";
}

/** Return the view that the address names, and the task it is about. */
function named() {
  if (exported) {
    const name = decodeURIComponent(location.hash.slice(1));
    return name.startsWith("cost-") ? [CostView] : [TaskView, name || exportedTask().id];
  }
  const task = location.pathname.match(/^\/tasks\/([^/]+)$/);
  if (task) return [TaskView, decodeURIComponent(task[1])];
  return location.pathname === "/cost" ? [CostView] : [ListView];
}

function route({ detail: key } = {}) {
  const [View, id] = named();
  navigation(View);
  if (open instanceof View && open.moved(id)) return;
  const first = !open;
  open?.close();
  main.replaceChildren();
  open = new View(main, connected, id, key);
  document.title = `${open.title} · ohm`;
  if (!first) main.focus({ preventScroll: true });
}

function navigation(View) {
  const pages = exported
    ? [["Task", "#", TaskView], ["Cost", "#cost-profile", CostView]]
    : [["Tasks", "/", ListView], ["Cost", "/cost", CostView]];
  fill(document.querySelector("nav"), pages.map(([name, href, page]) =>
    node("a", { href, "aria-current": View === page ? "page" : false }, name)),
  node("button", { type: "button", class: "link help-button", "aria-label": "Keys" }, node("kbd", {}, "?"), "keys"));
}

document.addEventListener("click", (event) => {
  if (event.target.closest(".help-button")) showKeys();
  const link = event.target.closest("a[href]");
  const plain = link && !link.target && !link.hash && !link.hasAttribute("download") && link.origin === location.origin;
  if (!plain || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(link.getAttribute("href"));
});
addEventListener("popstate", route);
addEventListener("moved", route);
const showKeys = listen(() => open, go);
if (exported) {
  connection.textContent = `exported ${instant(exportedTask().at)}`;
  document.querySelector(".brand").setAttribute("href", "#");
}
route();
