// The figures of a point, beside the pointer, and to those who use the keyboard.

const hint = (chart, row) => chart.columns.filter(isListed)
  .map((column) => [column.title, short(row[column.key], column.unit)]);

const MOST_LIT = 6000; // with more marks, drawing them at each move would lag behind
const box = document.createElement("div");
box.className = "tip";
box.hidden = true;

const showAt = (event, pairs) => {
  const list = document.createElement("dl");
  for (const [name, text] of pairs) {
    const term = document.createElement("dt");
    const value = document.createElement("dd");
    term.textContent = name;
    value.textContent = text;
    list.append(term, value);
  }
  box.replaceChildren(list);
  box.hidden = false;
  const left = Math.min(event.clientX + 14, innerWidth - box.offsetWidth - 8);
  const top = Math.min(event.clientY + 14, innerHeight - box.offsetHeight - 8);
  box.style.left = `${Math.max(4, left)}px`;
  box.style.top = `${Math.max(4, top)}px`;
};

const tip = (chart) => (handler, event, item, value) => {
  const row = value == null || value === "" ? null : chart.rows[Number(value)];
  if (chart.figure.dataset.drawn < MOST_LIT) look(chart, row?.series || chart.lit);
  if (row) showAt(event, hint(chart, row));
  else box.hidden = true;
};

// One series is looked at: the others fade.
const look = (chart, name) => {
  if (!chart.view || chart.view.signal("lit") === name) return;
  chart.view.signal("lit", name).run();
};

// It stays so until it is chosen again.
const keep = (chart, name) => {
  chart.lit = chart.lit === name ? "" : name;
  if (chart.mode === "spread") redraw(chart);
  else { showTools(chart); look(chart, chart.lit); remember(); }
};

const listen = (chart) => {
  const entry = (item) => (/^legend-(symbol|label)$/.test(item?.mark?.role ?? "")
    ? String(item.datum.value) : item?.datum?.role === "end" ? item.datum[seriesKey(chart)] : "");
  const series = (item) => texts(chart, seriesKey(chart)).find((text) => text === entry(item));
  chart.view.addEventListener("mouseover", (_, item) => { if (series(item)) look(chart, series(item)); });
  chart.view.addEventListener("mouseout", (_, item) => { if (series(item)) look(chart, chart.lit); });
  chart.view.addEventListener("click", (_, item) => { if (series(item)) keep(chart, series(item)); });
};
