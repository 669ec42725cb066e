// Draws the charts, and shows one chosen client in all of them, in the table and in a view of its own.
(async () => {
  const get = id => document.getElementById(id), read = id => JSON.parse(get(id).textContent);
  const waiting = new Set(read("figures"));
  let owns = null; // every client's rows are most of the page: read when the first one is chosen
  const bar = get("chosen"), own = get("own"), find = get("find");
  const rows = [...document.querySelectorAll("tr[data-client]")];
  const known = new Map(rows.map(row => [row.dataset.client, row]));
  const views = [];
  let now = null;

  function rowsOf(place, client) { // the chosen client's rows of one chart
    if (client === null) return [];
    const told = (owns ??= read("owns"))[place], values = told.values[client];
    if (!values) return [];
    const named = cells => Object.fromEntries(told.columns.map((name, k) => [name, cells[k]]));
    if (!told.keys) return values.map(named);
    return told.keys.map((key, k) => named([...key, values[k] === null ? null : values[k] * told.scale]));
  }
  function show({ view, clients, own }) {
    view.signal("chosen", clients.has(now) ? now : null); // a sample without this client does not fade
    if (own !== null) view.data("own", rowsOf(own, now));
    return view.runAsync();
  }
  function facts(client) { // from the table's row
    const heads = [...document.querySelectorAll("#table th")], cells = known.get(client).cells;
    get("own").querySelector("h2").textContent = "Client " + client;
    own.querySelector("dl").replaceChildren(...heads.slice(1).map((head, k) => {
      const part = document.createElement("div"), name = document.createElement("dt"), value = document.createElement("dd");
      name.textContent = head.textContent;
      value.textContent = cells[k + 1].textContent || "–";
      part.append(name, value);
      return part;
    }));
  }
  function choose(client, again) {
    if (!known.size) return null; // a page without clients
    now = !known.has(client) || (client === now && !again) ? null : client;
    own.hidden = bar.hidden = now === null;
    bar.firstElementChild.textContent = now === null ? "" : "Chosen: client " + now + ",";
    if (now !== null) facts(now);
    if (find) find.value = now ?? "";
    for (const row of rows) row.classList.toggle("chosen", row.dataset.client === now);
    try { history.replaceState(null, "", now === null ? "#" : "#client=" + encodeURIComponent(now)); } catch (refused) { /* not needed */ }
    window.dispatchEvent(new Event("resize")); // what was hidden had no width
    return Promise.all(views.map(show));
  }

  for (const row of rows) row.addEventListener("click", () => choose(row.dataset.client));
  if (bar) get("forget").addEventListener("click", () => choose(null));
  if (find) {
    const names = document.createElement("datalist");
    names.id = "names";
    names.append(...[...known.keys()].map(name => Object.assign(document.createElement("option"), { value: name })));
    find.after(names);
    find.addEventListener("change", () => choose(find.value, true));
  }
  for (const button of document.querySelectorAll("th button")) button.addEventListener("click", () => {
    const head = button.closest("th"), body = head.closest("table").tBodies[0], at = head.cellIndex;
    const up = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    const key = row => { const cell = row.cells[at]; return cell.dataset.v ?? cell.textContent; };
    const order = (a, b) => isNaN(a) || isNaN(b) || a === "" || b === "" ? String(a).localeCompare(b, "en", { numeric: true }) : a - b;
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up === 1 ? "ascending" : "descending");
    [...body.rows].sort((a, b) => up * order(key(a), key(b))).forEach(row => body.append(row));
  });

  for (const box of document.querySelectorAll("input.filter")) box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of document.querySelectorAll("#" + box.dataset.table + " tbody tr")) {
      const cells = [...row.cells].map(cell => cell.textContent.toLowerCase()).join(" ");
      row.hidden = !words.every(word => cells.includes(word));
    }
  });

  async function draw(figure) {
    const place = get("chart-" + figure.name);
    try {
      const shown = await vegaEmbed(place, figure.spec, {
        renderer: figure.rows > 1500 ? "canvas" : "svg", mode: "vega-lite", logLevel: 1, // errors: what is empty until a client is chosen has no extent
        actions: { export: true, source: false, compiled: false, editor: false },
      });
      const drawn = { view: shown.view, clients: new Set(figure.spec.datasets.rows.map(row => row.client)), own: figure.own };
      views.push(drawn);
      if (now !== null) await show(drawn);
      shown.view.addEventListener("click", (event, item) => {
        const datum = item && item.datum;
        if (datum) choose(known.has(datum.kin) ? datum.kin : datum.client);
      });
    } catch (error) {
      console.error(figure.name, error);
      place.textContent = "This chart cannot be drawn: " + error.message;
    }
  }
  function inSight(figure) {
    const box = get("chart-" + figure.name).getBoundingClientRect();
    return box.bottom > 0 && box.top < innerHeight;
  }
  const breath = () => new Promise(resolve => setTimeout(resolve));
  const leisure = () => window.requestIdleCallback ? new Promise(resolve => requestIdleCallback(resolve, { timeout: 200 })) : breath();

  if (location.hash.startsWith("#client=")) choose(decodeURIComponent(location.hash.slice(8)), true);
  while (waiting.size) { // what is in sight first, the rest while the page has nothing else to do
    const seen = [...waiting].find(inSight);
    if (!seen) document.documentElement.dataset.opened ??= views.length;
    await (seen ? breath() : leisure());
    const next = seen ?? waiting.values().next().value;
    waiting.delete(next);
    await draw(next);
  }
  document.documentElement.dataset.opened ??= views.length;
  document.documentElement.dataset.drawn = views.length;
})();
