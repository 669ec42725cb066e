// Tables that are sorted, searched and saved; files are made here and never sent anywhere.
function saved(name, parts, type) {
  const link = document.createElement("a"), url = URL.createObjectURL(new Blob(parts, { type }));
  Object.assign(link, { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function csvOf(rows) { // a spreadsheet takes what begins like a formula for one
  const cell = value => {
    let text = value === null || value === undefined ? "" : String(value);
    if (/^[=+\-@\t\r]/.test(text) && isNaN(text)) text = "'" + text;
    return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  };
  return rows.map(row => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

function csvOfRecords(records) {
  const names = [...new Set(records.flatMap(record => Object.keys(record)))];
  const flat = value => value !== null && typeof value === "object" ? JSON.stringify(value) : value;
  return csvOf([names, ...records.map(record => names.map(name => flat(record[name])))]);
}

const LEFT = "fedkin " + location.pathname; // fedkin watch loads a page anew: how its tables were left, in this tab
function left() {
  try { return JSON.parse(sessionStorage.getItem(LEFT)) ?? {}; } catch (refused) { return {}; }
}
function leave(name, value) {
  try { sessionStorage.setItem(LEFT, JSON.stringify({ ...left(), [name]: value })); } catch (refused) { /* not needed */ }
}

for (const button of document.querySelectorAll("th button")) {
  if (!button.closest("thead")) continue;
  button.addEventListener("click", () => {
    const head = button.closest("th"), body = head.closest("table").tBodies[0], at = head.cellIndex;
    const up = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const key = row => { const cell = row.cells[at]; return cell.dataset.v ?? cell.textContent; };
    const none = text => text === "" || text === "–"; // what was not measured stands last
    const order = (a, b) => isNaN(a) || isNaN(b)
      ? String(a).localeCompare(b, "en", { numeric: true }) : a - b;
    const sorted = (a, b) => none(a) || none(b) ? none(a) - none(b) : up * order(a, b);
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up === 1 ? "ascending" : "descending");
    [...body.rows].sort((a, b) => sorted(key(a), key(b))).forEach(row => body.append(row));
    leave("sort " + head.closest("section").id, [head.textContent, up]);
  });
}

for (const tools of document.querySelectorAll("section > .tools")) {
  const section = tools.parentNode, table = section.querySelector("table");
  const field = tools.querySelector(".filter"), count = tools.querySelector(".count");
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean), rows = [...table.tBodies[0].rows];
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
    }
    const shown = rows.filter(row => !row.hidden).length;
    count.textContent = words.length ? shown + " of " + rows.length : "";
    leave("find " + section.id, field.value);
  });
  tools.querySelector(".csv").addEventListener("click", () => {
    const rows = [...table.rows].filter(row => !row.hidden);
    const text = cell => cell.dataset.v || cell.textContent;
    const lines = rows.map(row => [...row.cells].map(text));
    saved(section.id + ".csv", [csvOf(lines)], "text/csv");
  });
}

for (const [name, value] of Object.entries(left())) {
  const kind = name.slice(0, 5), section = document.getElementById(name.slice(5));
  const field = section?.querySelector(".filter");
  if (kind === "find " && field && value) {
    field.value = value;
    field.dispatchEvent(new Event("input"));
  }
  const head = kind === "sort " && [...section?.querySelectorAll("thead th") ?? []].find(one => one.textContent === value[0]);
  if (head) for (let n = value[1] === 1 ? 1 : 2; n; n--) head.querySelector("button").click();
}

function markWide() { // a table that goes on beyond the screen says so at its right edge
  for (const one of document.querySelectorAll(".scroll"))
    one.classList.toggle("wide", one.scrollWidth - one.clientWidth - one.scrollLeft > 1);
}
document.addEventListener("scroll", markWide, { capture: true, passive: true });
window.addEventListener("resize", markWide);
markWide();
