// Tables are made when they are opened; a long one shows its beginning first.

const FIRST_ROWS = 200;

const cell = (kind, text, isText) => {
  const made = document.createElement(kind);
  made.textContent = text;
  if (isText) made.className = "text";
  if (kind === "th") made.scope = "col";
  return made;
};

const rowOf = (columns, row) => {
  const line = document.createElement("tr");
  const text = (column) => column.key === "status" && failed(row)
    ? `${FAILED} ${row.status}` : lined(column, row[column.key]);
  line.append(...columns.map((column) => cell("td", text(column), column.unit === "text")));
  return line;
};

const dataTable = (columns, rows) => {
  const shown = columns.filter(isListed);
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  head.append(...shown.map((column) => cell("th", heading(column), column.unit === "text")));
  const body = table.createTBody();
  body.append(...rows.slice(0, FIRST_ROWS).map((row) => rowOf(shown, row)));
  if (rows.length <= FIRST_ROWS) return [table];
  const more = document.createElement("button");
  more.type = "button";
  more.textContent = `Show all ${rows.length} rows`;
  more.onclick = () => {
    body.append(...rows.slice(FIRST_ROWS).map((row) => rowOf(shown, row)));
    more.remove();
  };
  return [table, more];
};

// A table of one axis by the other, one for each panel; or of figures side by side.
const pivots = (chart) => {
  const column = (key) => chart.columns.find((one) => one.key === key);
  if (!column("row")) return dataTable(chart.columns, shownRows(chart));
  const panel = chart.channels.panel;
  const rows = shownRows(chart);
  const parts = panel ? texts(chart, panel) : [""];
  return parts.map((part) => {
    const found = rows.filter((row) => !panel || row[panel] === part);
    return pivot(part, column("x"), column("row"), column("y"), found);
  });
};

const pivot = (caption, across, down, value, rows) => {
  const table = document.createElement("table");
  const measured = TABLE_UNITS[value.unit] && value.unit !== "1/s" ? heading(value) : "";
  const above = [caption, down.order.some(Boolean) && measured].filter(Boolean).join(", ");
  if (above) table.createCaption().textContent = above;
  const text = (row) => (failed(row) ? FAILED : round(value, row.y));
  const at = new Map(rows.map((row) => [`${row.row}\n${row.x}`, text(row)]));
  const head = table.createTHead().insertRow();
  head.append(cell("th", `${down.title} \\ ${across.title}`, true));
  head.append(...across.order.map((text) => cell("th", text)));
  const body = table.createTBody();
  for (const name of [...down.order].reverse()) {
    const line = body.insertRow();
    const first = cell("th", name || heading(value), true);
    first.scope = "row";
    line.append(first);
    line.append(...across.order.map((x) => cell("td", at.get(`${name}\n${x}`) ?? "–")));
  }
  return table;
};

const fillTable = (details) => {
  const place = details.querySelector("div");
  const chart = known.get(details.dataset.rows);
  if (chart) {
    place.replaceChildren(...dataTable(chart.columns, shownRows(chart)));
    return;
  }
  const { rows } = read(details.dataset.rows);
  const filter = wanted(rows.columns, {});
  place.replaceChildren(...dataTable(rows.columns, unfold(rows).filter(filter)));
};
