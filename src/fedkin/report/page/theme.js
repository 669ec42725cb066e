// Charts in the colours of the page: light, or dark where the reader's system is.
"use strict";
const DARK = matchMedia("(prefers-color-scheme: dark)");
const PAPER = { light: "#ffffff", dark: "#17191d" };
const BY_NIGHT = { // what is dark or dull on dark paper, and what stands for it
  "#0072b2": "#4fa3e0", "#009e73": "#2bc39a", "#d55e00": "#f0803c", "#cc79a7": "#e3a0c5",
  "#56b4e9": "#9ad4f5", "#882255": "#d06a9f", "#000": "#f2f2f2", "#000000": "#f2f2f2",
  "#767676": "#a8a8a8", "#777": "#a8a8a8", "#777777": "#a8a8a8", "#999": "#8f8f8f",
};

function recoloured(part) { // colours of a specification, whatever depth they stand at
  if (typeof part === "string") return BY_NIGHT[part.toLowerCase()] ?? part;
  if (Array.isArray(part)) return part.map(recoloured);
  if (part === null || typeof part !== "object") return part;
  return Object.fromEntries(Object.entries(part).map(([key, value]) =>
    [key, key === "datasets" ? value : recoloured(value)]));
}

function themed(spec) {
  if (!DARK.matches) return spec;
  const words = { labelColor: "#d6d6d6", titleColor: "#d6d6d6" };
  const lines = { gridColor: "#3a3d42", domainColor: "#8f8f8f", tickColor: "#8f8f8f" };
  const config = spec.config ?? {};
  return {
    ...recoloured(spec),
    config: {
      ...config, background: PAPER.dark, axis: { ...config.axis, ...words, ...lines },
      legend: { ...config.legend, ...words }, header: { ...config.header, ...words },
      title: { color: "#d6d6d6" }, text: { color: "#d6d6d6" }, rule: { color: "#d6d6d6" },
    },
  };
}

document.documentElement.classList.toggle("dark", DARK.matches); // for paper, which is never dark
DARK.addEventListener("change", () => { if (!matchMedia("print").matches) location.reload(); });
