// The search over the field guide, its claims and the scenarios. `PLACES` is in search-index.js.
"use strict";

const field = document.querySelector("#search input");
const hits = document.querySelector("#hits");
const told = document.querySelector("#search [role=status]");
const MOST = 30;

/** The text around the first of `words`, on one line. */
function around(text, words) {
  const flat = text.replace(/\s+/g, " ");
  const at = Math.max(0, flat.toLowerCase().indexOf(words[0]) - 40);
  return (at > 0 ? "…" : "") + flat.slice(at, at + 140) + (at + 140 < flat.length ? "…" : "");
}

/** A hit as an item of the list. */
function item(place, words) {
  const link = document.createElement("a");
  link.href = place.link;
  link.textContent = place.title;
  const page = document.createElement("small");
  page.textContent = ` ${place.page}`;
  const text = document.createElement("p");
  text.textContent = around(place.text, words);
  const item = document.createElement("li");
  item.append(link, page, text);
  return item;
}

/** Lists the places that have every word. */
function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const has = (place) => {
    const text = `${place.title} ${place.link} ${place.text}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const found = words.length > 0 ? PLACES.filter(has) : [];
  hits.replaceChildren(...found.slice(0, MOST).map((place) => item(place, words)));
  const more = found.length > MOST ? `, the first ${MOST} below` : "";
  told.textContent = words.length > 0 ? `${found.length} found${more}` : "";
}

field.addEventListener("input", search);
field.form.addEventListener("submit", (event) => event.preventDefault());
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.target.closest("input, select")) {
    event.preventDefault();
    field.focus();
  }
});
// A browser may restore what was typed.
search();
