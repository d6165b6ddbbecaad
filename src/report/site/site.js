// The filters of the list, kept in the URL's hash, and keyboard navigation in the matrix.
"use strict";

const form = document.querySelector("#filters");
const items = [...document.querySelectorAll(".findings > li")];
const texts = items.map((item) => item.textContent.toLowerCase());
const links = [...document.querySelectorAll(".matrix tbody a")];

/** Names and values of the filters that are set. */
function chosen() {
  return [...new FormData(form)].filter(([, value]) => value.trim() !== "");
}

/** Whether the item at `index` passes the filter. */
function passes(index, [name, value]) {
  if (name === "text") {
    return value.toLowerCase().trim().split(/\s+/).every((word) => texts[index].includes(word));
  }
  return items[index].dataset[name].split(",").includes(value);
}

/** Shows the findings that pass all filters, and the chosen family in the matrix. */
function show() {
  const filters = chosen();
  let count = 0;
  items.forEach((item, index) => {
    item.hidden = !filters.every((filter) => passes(index, filter));
    count += item.hidden ? 0 : 1;
  });
  document.querySelector("#count").textContent = count;
  const family = form.elements.family.value;
  for (const body of document.querySelectorAll(".matrix tbody")) {
    body.hidden = family !== "" && body.dataset.family !== family;
  }
  for (const link of links) {
    link.toggleAttribute("aria-current", link.hash === location.hash);
  }
}

/** Sets the filters from the URL. */
function restore() {
  // The hash may also be an anchor of the page.
  if (/^#[^=]+$/.test(location.hash)) return;
  const params = new URLSearchParams(location.hash.slice(1));
  for (const field of form.elements) {
    if (!field.name) continue;
    field.value = params.get(field.name) ?? "";
    if (field.selectedIndex === -1) field.value = "";
  }
  show();
}

/** Applies the filters in the URL, and scrolls to the list if there are any. */
function applyUrl() {
  restore();
  if (location.hash.includes("=")) document.querySelector("#list-title").scrollIntoView();
}

/** Writes the filters into the URL. */
function storeFilters() {
  history.replaceState(null, "", "#" + new URLSearchParams(chosen()));
  show();
}

form.addEventListener("input", storeFilters);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("reset", () => setTimeout(storeFilters));
window.addEventListener("hashchange", applyUrl);

document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.target.closest("input, select")) {
    event.preventDefault();
    form.elements.text.focus();
  }
});

// Only one link of the matrix is in the tab order; arrow keys move from there.
const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

function makeTabbable(link) {
  for (const other of links) other.tabIndex = other === link ? 0 : -1;
}

/** The next link of the matrix from `cell` in a direction. */
function next(cell, [down, right]) {
  // The name of a family is a row of its own without the other columns.
  const rows = [...cell.closest("table").rows].filter((row) => row.className !== "family" && !row.parentNode.hidden);
  let row = rows.indexOf(cell.parentNode) + down;
  let column = cell.cellIndex + right;
  for (; rows[row]?.cells[column]; row += down, column += right) {
    const link = rows[row].cells[column].querySelector("a");
    if (link) return link;
  }
  return null;
}

document.querySelector(".matrix").addEventListener("keydown", (event) => {
  const cell = event.target.closest("td, th");
  const link = steps[event.key] && cell ? next(cell, steps[event.key]) : null;
  if (!link) return;
  event.preventDefault();
  link.focus();
});
document.querySelector(".matrix").addEventListener("focusin", (event) => {
  if (links.includes(event.target)) makeTabbable(event.target);
});

if (links.length > 0) makeTabbable(links[0]);
applyUrl();
