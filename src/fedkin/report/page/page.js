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
    const heads = [...document.querySelectorAll("#table thead th")], cells = known.get(client).cells;
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
    for (const row of rows) {
      row.classList.toggle("chosen", row.dataset.client === now);
      row.querySelector("button").setAttribute("aria-pressed", row.dataset.client === now);
    }
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
  if (get("print")) get("print").addEventListener("click", () => {
    document.documentElement.classList.add("one-page");
    addEventListener("afterprint", () => document.documentElement.classList.remove("one-page"), { once: true });
    print();
  });

  function tools(figure) { // what a figure shows, and its files
    const place = get(figure.name).querySelector(".tools"), choice = place.querySelector("select");
    const shown = () => choice && choice.selectedIndex ? figure.others[choice.selectedIndex - 1][1] : figure.spec;
    const current = () => views.find(one => one.name === figure.name);
    const name = () => figure.name + (choice && choice.selectedIndex ? "-" + choice.value.replaceAll(/\W+/g, "-") : "");
    if (choice) choice.addEventListener("change", async () => {
      const old = current(), told = shown().description;
      get("chart-" + figure.name).setAttribute("aria-label", told);
      get(figure.name).querySelector("figcaption").textContent = told.replace(figure.title + ". ", "");
      old.view.finalize();
      views.splice(views.indexOf(old), 1);
      await draw({ ...figure, spec: shown() });
    });
    for (const button of place.querySelectorAll("[data-save]")) button.addEventListener("click", async () => {
      const kind = button.dataset.save, { view, own } = current();
      if (kind === "csv") return saved(name() + ".csv", [csvOfRecords(shown().datasets.rows)], "text/csv");
      await inLight(view, own, shown(), async light => {
        if (kind === "svg") return saved(name() + ".svg", [await light.toSVG()], "image/svg+xml");
        const canvas = await light.toCanvas(2);
        canvas.toBlob(blob => saved(name() + ".png", [blob], "image/png"));
      });
    });
  }

  async function inLight(view, own, spec, use) { // a file is for paper, also where the page is dark
    if (!DARK.matches) return use(view);
    const place = document.createElement("div");
    place.style.cssText = `position: absolute; left: -9999px; width: ${view.container().clientWidth}px`;
    document.body.append(place);
    try {
      const light = (await vegaEmbed(place, spec, { mode: "vega-lite", logLevel: 1, actions: false })).view;
      for (const { name } of spec.params ?? []) light.signal(name, view.signal(name)); // what was chosen
      if (own !== null) light.data("own", view.data("own"));
      await use(await light.runAsync());
      light.finalize();
    } finally { place.remove(); }
  }

  async function draw(figure) {
    const place = get("chart-" + figure.name);
    try {
      const shown = await vegaEmbed(place, themed(figure.spec), {
        renderer: figure.rows > 1500 ? "canvas" : "svg", mode: "vega-lite", logLevel: 1, // errors: what is empty until a client is chosen has no extent
        actions: false, tooltip: { theme: DARK.matches ? "dark" : "light" },
      });
      place.firstElementChild?.setAttribute("aria-hidden", true); // the place itself is the image, and told in words
      const drawn = { name: figure.name, view: shown.view, clients: new Set(figure.spec.datasets.rows.map(row => row.client)), own: figure.own };
      views.push(drawn);
      if (now !== null) await show(drawn);
      shown.view.addEventListener("click", (event, item) => {
        const datum = item && item.datum;
        if (datum) choose(known.has(datum.neighbour) ? datum.neighbour : datum.client);
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

  function asked() { // the client that the address names; null: it is cut off within a letter
    try { return decodeURIComponent(location.hash.slice(8)); } catch (malformed) { return null; }
  }

  if (location.hash.startsWith("#client=")) choose(asked(), true);
  while (waiting.size) { // what is in sight first, the rest while the page has nothing else to do
    const seen = [...waiting].find(inSight);
    if (!seen) document.documentElement.dataset.opened ??= views.length;
    await (seen ? breath() : leisure());
    const next = seen ?? waiting.values().next().value;
    waiting.delete(next);
    await draw(next);
    tools(next);
  }
  document.documentElement.dataset.opened ??= views.length;
  document.documentElement.dataset.drawn = views.length;
})();
