// Wires the page up. Charts are read and drawn when they come near.

const NEAR = "700px";
const known = new Map(); // by the id of their data

const chartOf = (figure) => {
  const id = `${figure.id}-data`;
  if (known.has(id)) return known.get(id);
  const { rows, overlay, spec, ...rest } = read(id);
  const chart = {
    ...rest, spec, figure,
    plot: figure.querySelector(".plot"),
    columns: rows.columns,
    rows: numbered(unfold(rows), rows.columns, rest.channels.panel),
    overlay: overlay && {
      columns: overlay.columns,
      rows: numbered(unfold(overlay), overlay.columns, rest.channels.panel),
    },
    state: {}, pick: {},
  };
  known.set(id, chart);
  prepare(chart);
  return chart;
};

const button = (text, label, action) => {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.setAttribute("aria-label", label);
  made.onclick = () => action(made);
  return made;
};

const switchOf = (chart, channel, positions) => {
  chart.state[channel] = positions[0];
  if (positions.length < 2) return [];
  const words = () => `${channel}: ${chart.state[channel]}`;
  return [button(words(), `${channel} axis, ${words()}`, (made) => {
    const next = (positions.indexOf(chart.state[channel]) + 1) % positions.length;
    chart.state[channel] = positions[next];
    made.textContent = words();
    made.setAttribute("aria-label", `${channel} axis, ${words()}`);
    redraw(chart);
  })];
};

const pickerOf = (chart) => {
  const key = chart.channels.pick;
  if (!key) return [];
  const select = document.createElement("select");
  select.setAttribute("aria-label", "Which part to show");
  select.append(...texts(chart, key).map((text) => new Option(text, text)));
  chart.pick = { key, value: select.value };
  select.onchange = () => { chart.pick.value = select.value; redraw(chart); };
  return [select];
};

const prepare = (chart) => {
  const tools = chart.figure.querySelector(".tools");
  const choices = Object.entries(chart.spec?.usermeta.choices ?? {});
  const gap = document.createElement("span");
  gap.className = "gap";
  tools.append(...pickerOf(chart));
  tools.append(...choices.flatMap(([name, found]) => switchOf(chart, name, Object.keys(found))));
  const kinds = chart.spec ? ["PNG", "SVG", "CSV"] : ["CSV"];
  tools.append(gap, ...kinds.map((kind) =>
    button(kind, `Download as ${kind}`, () => saveAs[kind](chart))));
  chart.plot?.addEventListener("keydown", steer(chart));
};

const redraw = (chart) => {
  if (chart.plot) draw(chart);
  chart.figure.querySelector(".pivot")?.replaceChildren(...pivots(chart));
  const details = chart.figure.querySelector("details[open]");
  if (details) fillTable(details);
};

const figures = [...document.querySelectorAll("figure[data-kind]")]
  .filter((figure) => document.getElementById(`${figure.id}-data`));
const near = new Set(); // figures that were drawn once

const come = (figure) => {
  if (near.has(figure)) return;
  near.add(figure);
  redraw(chartOf(figure));
};

const again = () => near.forEach((figure) => redraw(chartOf(figure)));

const watcher = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    watcher.unobserve(target);
    come(target);
  }
}, { rootMargin: NEAR });
figures.forEach((figure) => watcher.observe(figure));

document.body.append(box);
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

document.getElementById("sessions")?.addEventListener("change", ({ target }) => {
  if (target.checked) hidden.delete(target.value);
  else hidden.add(target.value);
  again();
  document.querySelectorAll(".runs details[open]").forEach(fillTable);
});

let waiting = 0;
addEventListener("resize", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    for (const chart of known.values()) {
      if (chart.view && Math.abs(chart.plot.clientWidth - chart.width) > 4) draw(chart);
    }
  }, 150);
});

addEventListener("beforeprint", () => {
  printing = true;
  again();
  figures.forEach(come);
});
addEventListener("afterprint", () => { printing = false; again(); });
