// Draws the charts, and shows one chosen client in all of them and in the table.
(async () => {
  const page = JSON.parse(document.getElementById("figures").textContent);
  const views = [];
  for (const figure of page.figures) {
    const place = document.getElementById("chart-" + figure.name);
    try {
      const shown = await vegaEmbed(place, figure.spec, {
        renderer: figure.rows > 4000 ? "canvas" : "svg", mode: "vega-lite",
        actions: { export: true, source: false, compiled: false, editor: false },
      });
      views.push({ view: shown.view, clients: new Set(figure.spec.datasets.rows.map(row => row.client)) });
      shown.view.addEventListener("click", (event, item) => choose(item && item.datum && item.datum.client));
    } catch (error) {
      place.textContent = "This chart cannot be drawn: " + error.message;
    }
  }
  const bar = document.getElementById("chosen"), rows = [...document.querySelectorAll("tr[data-client]")];
  let now = null;
  function line(client) {
    const values = page.lines && client !== null && page.lines.values[client];
    return values ? page.lines.rounds.map((round, k) => ({ round, value: values[k] === null ? null : values[k] / 1e4 })) : [];
  }
  function choose(client) {
    now = client === undefined || client === null || client === now ? null : client;
    for (const { view, clients } of views) {
      view.signal("chosen", clients.has(now) ? now : null); // a sample without this client does not fade
      try { view.data("chosen_line", line(now)); } catch (absent) { /* this chart has no such line */ }
      view.runAsync();
    }
    for (const row of rows) row.classList.toggle("chosen", row.dataset.client === now);
    bar.hidden = now === null;
    bar.firstElementChild.textContent = now === null ? "" : "Chosen: client " + now;
  }
  for (const row of rows) row.addEventListener("click", () => choose(row.dataset.client));
  document.getElementById("forget").addEventListener("click", () => choose(null));
  for (const button of document.querySelectorAll("th button")) button.addEventListener("click", () => {
    const head = button.closest("th"), body = head.closest("table").tBodies[0], at = head.cellIndex;
    const up = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const key = row => { const cell = row.cells[at]; return cell.dataset.v ?? cell.textContent; };
    const order = (a, b) => isNaN(a) || isNaN(b) || a === "" || b === "" ? String(a).localeCompare(b, "en", { numeric: true }) : a - b;
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up === 1 ? "ascending" : "descending");
    [...body.rows].sort((a, b) => up * order(key(a), key(b))).forEach(row => body.append(row));
  });
  document.documentElement.dataset.drawn = views.length;
})();
