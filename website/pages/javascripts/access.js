// What the theme leaves out for readers who use a keyboard or listen to the page.
function nameLandmarks() { // the theme calls several "Navigation", and those of code blocks nothing
  const used = new Set();
  for (const nav of document.querySelectorAll("nav")) {
    const from = document.getElementById(nav.getAttribute("aria-labelledby") ?? "");
    const name = (nav.getAttribute("aria-label") ?? from?.textContent ?? "").trim() || "Code";
    let own = name;
    for (let n = 2; used.has(own.toLowerCase()); n++) own = `${name} ${n}`;
    used.add(own.toLowerCase());
    if (own === nav.getAttribute("aria-label")) continue;
    nav.removeAttribute("aria-labelledby");
    nav.setAttribute("aria-label", own);
  }
}
function reachTables() { // a table that scrolls is reached by the keyboard; an empty heading is none
  for (const wrap of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) wrap.tabIndex = 0;
  for (const head of document.querySelectorAll("article th:empty")) head.replaceWith(document.createElement("td"));
}
function nameCharts() { // of a notebook: one image, not a mark each
  for (const mark of document.querySelectorAll("article svg *"))
    for (const name of ["role", "aria-label", "aria-roledescription"]) mark.removeAttribute(name);
  for (const chart of document.querySelectorAll("article svg.marks:not([role])")) {
    chart.setAttribute("role", "img");
    chart.setAttribute("aria-label", "Chart of the output above");
  }
}
function everything() { nameLandmarks(); reachTables(); nameCharts(); }
new MutationObserver(everything).observe(document.body, { childList: true, subtree: true });
everything();
