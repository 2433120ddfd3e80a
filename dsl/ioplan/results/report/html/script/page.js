// Wires the page up. Charts are read and drawn when they come near.

const NEAR = "700px";

const chartOf = (figure) => {
  const id = `${figure.id}-data`;
  if (known.has(id)) return known.get(id);
  const { rows, overlay, limits, phases, spread, ...rest } = read(id);
  const color = rest.modes.together.channels.color;
  const chart = {
    ...rest, figure,
    plot: figure.querySelector(".plot"),
    columns: rows.columns,
    rows: unfold(rows).map((row) => ({ ...row, series: row[color] ?? "" })),
    limits: limits ? unfold(limits) : [],
    phases: phases ? labelled(unfold(phases), phases.columns[0].order) : [],
    overlay: overlay && { columns: overlay.columns, rows: unfold(overlay) },
    spread: spread && { ...spread, columns: spread.rows.columns, rows: unfold(spread.rows) },
    state: {}, picked: {}, pick: {}, chosen: "", lit: "",
  };
  for (const [name, found] of Object.entries(rest.modes.together.spec?.usermeta.choices ?? {})) {
    [chart.state[name]] = Object.keys(found);
  }
  chart.lit = focusedSeries(chart);
  restoreChart(chart);
  known.set(id, chart);
  settleMode(chart);
  chart.plot?.addEventListener("keydown", steer(chart));
  return chart;
};

const redraw = (chart) => {
  settleMode(chart);
  showTools(chart);
  if (chart.plot) draw(chart);
  const note = chart.figure.querySelector(".made");
  if (note) note.textContent = [spreadNote(chart), stretchNote(chart)].filter(Boolean).join("; ");
  const told = chart.figure.querySelector(".told");
  if (told) told.textContent = summary(chart);
  chart.figure.querySelector(".pivot")?.replaceChildren(...pivots(chart));
  const details = chart.figure.querySelector("details.data[open]");
  if (details) fillTable(details);
  remember();
};

const figures = [...document.querySelectorAll("figure[data-kind]")]
  .filter((figure) => document.getElementById(`${figure.id}-data`));
const near = new Set(); // figures that were drawn once

const come = (figure) => {
  if (near.has(figure)) return;
  near.add(figure);
  redraw(chartOf(figure));
};

const again = () => {
  near.forEach((figure) => redraw(chartOf(figure)));
};

const watcher = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    watcher.unobserve(target);
    come(target);
  }
}, { rootMargin: NEAR });
figures.forEach((figure) => watcher.observe(figure));

document.body.append(box);
readAddress();
markDrive();
sessionTools();
document.querySelectorAll("details.data").forEach((details) => {
  if (details.open) fillTable(details);
  details.addEventListener("toggle", () => {
    const figure = details.closest("figure[data-kind]");
    if (figure) come(figure);
    if (details.open) fillTable(details);
  });
});

const THEMES = ["auto", "light", "dark"];
document.getElementById("theme").onclick = ({ target }) => {
  chosen = THEMES[(THEMES.indexOf(chosen) + 1) % THEMES.length];
  target.textContent = `Theme: ${chosen}`;
  if (chosen === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  again();
};
prefersDark.addEventListener("change", again);

addEventListener("hashchange", () => {
  const plainAnchor = !location.hash.includes("=");
  if (plainAnchor) anchor = location.hash.slice(1);
  else location.reload(); // another state: as if it had been opened
  remember();
});
document.getElementById(anchor)?.scrollIntoView();

let waiting = 0;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    for (const chart of known.values()) {
      if (chart.view && Math.abs(chart.plot.clientWidth - chart.width) > 4) draw(chart);
    }
  }, 150);
});

const folded = document.querySelectorAll(".remarks:not([open])");
addEventListener("beforeprint", () => {
  printing = true;
  folded.forEach((one) => { one.open = true; });
  again();
  figures.forEach(come);
});
addEventListener("afterprint", () => {
  printing = false;
  folded.forEach((one) => { one.open = false; });
  again();
});

// Beside a long page the test that is read is marked.
const sideLinks = [...document.querySelectorAll(".side a")];
const sideWatcher = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    for (const link of sideLinks) {
      if (link.hash === `#${target.id}`) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }
}, { rootMargin: "-20% 0px -70% 0px" });
if (sideLinks.length) {
  document.querySelectorAll("section.test").forEach((one) => sideWatcher.observe(one));
}

// What scrolls sideways can be reached with the keyboard.
const reachable = ({ target }) => {
  const { scrollWidth, clientWidth, scrollHeight, clientHeight } = target;
  if (scrollWidth > clientWidth || scrollHeight > clientHeight) target.tabIndex = 0;
  else target.removeAttribute("tabindex");
};
const scrollWatcher = new ResizeObserver((entries) => entries.forEach(reachable));
document.querySelectorAll(".scroll, pre").forEach((one) => scrollWatcher.observe(one));

// `?picture=svg`: only the first chart, as text for the program that asks for it.
const asked = new URLSearchParams(location.search).get("picture");
if (asked && figures.length) {
  const text = async (made) => asked === "svg" ? new Blob([svgText(made)]) : pngBlob(made);
  const data = (blob) => new Promise((done) => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result.split(",")[1]);
    reader.readAsDataURL(blob);
  });
  (async () => {
    come(figures[0]);
    const found = await data(await text(await picture(chartOf(figures[0]))));
    const kept = document.createElement("pre");
    kept.id = "picture";
    kept.textContent = found;
    document.body.replaceChildren(kept);
  })();
}
