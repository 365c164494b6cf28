// Elements of the page. Text goes in as text; HTML comes from the server alone, which has made it safe.

/** Matches where the page is so narrow that it scrolls as a whole. */
export const narrow = matchMedia("(max-width: 1050px)");

/** Matches where there is no keyboard at hand. */
export const byTouch = matchMedia("(pointer: coarse)");

/** Make an element. An attribute `on…` is a listener, `--…` a custom property; true, false and null are as in HTML. */
export function node(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) made.style.setProperty(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child != null && child !== false && child !== ""));
  return made;
}

/** Make an element of HTML that the server has drawn. */
export function drawnHtml(html) {
  const made = node("div", { class: "prose" });
  made.innerHTML = html;
  return made;
}

/** Put children into an element in place of those it has, and leave it alone where nothing has changed. */
export function fill(element, ...children) {
  const fresh = node("div", {}, ...children);
  const same = element.childNodes.length === fresh.childNodes.length &&
    [...element.childNodes].every((child, at) => child.isEqualNode(fresh.childNodes[at]));
  if (!same) element.replaceChildren(...fresh.childNodes);
}

/** Say something to those who listen to the page. */
export function say(text) {
  document.getElementById("said").textContent = text;
}
