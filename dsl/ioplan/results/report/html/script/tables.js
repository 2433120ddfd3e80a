// Tables are made when they are opened; a long one shows its beginning first.

const FIRST_ROWS = 200;
const FEW_ROWS = 20; // more can be filtered

const cell = (kind, text, isText) => {
  const made = document.createElement(kind);
  made.textContent = text;
  if (isText) made.className = "text";
  if (kind === "th") made.scope = "col";
  return made;
};

const tableViews = new Map(); // by the id of a table: how it is sorted and filtered

const viewOfTable = (id) => {
  if (!tableViews.has(id)) tableViews.set(id, restoreTable(id));
  return tableViews.get(id);
};

const headOf = ({ title }) => title || "cell";

const wordsOf = (column, row) => column.key === "status" && failed(row)
  ? `${FAILED} ${row.status}` : short(row[column.key], column.unit);

const rowOf = (columns, row) => {
  const line = document.createElement("tr");
  line.append(...columns.map((column) =>
    cell("td", wordsOf(column, row), column.unit === "text")));
  return line;
};

// Texts of an axis have an order of their own; what is absent comes last.
const sortedRows = (rows, column, up) => {
  const place = new Map(column.order.map((text, i) => [text, i]));
  const value = (row) => place.get(row[column.key]) ?? row[column.key];
  const absent = (found) => found === null || found === undefined;
  return [...rows].sort((one, other) => {
    const [a, b] = [value(one), value(other)];
    if (absent(a) || absent(b)) return absent(a) - absent(b);
    const order = typeof a === "number" ? a - b : String(a).localeCompare(b);
    return up ? order : -order;
  });
};

const sortOf = (view, at) => {
  if (view.sort?.at !== at) return { at, up: true };
  return view.sort.up ? { at, up: false } : null;
};

// A table whose heads sort it, and with many rows a field that filters it.
const dataTable = (id, columns, rows) => {
  const view = viewOfTable(id);
  const shown = columns.filter(isListed);
  const table = document.createElement("table");
  const head = table.createTHead().insertRow();
  const body = table.createTBody();
  const more = document.createElement("button");
  more.type = "button";
  const found = () => {
    const fits = meets(view.words);
    const kept = view.words
      ? rows.filter((row) => fits(shown.map((column) => wordsOf(column, row)).join(" "))) : rows;
    const column = view.sort && shown[view.sort.at];
    return column ? sortedRows(kept, column, view.sort.up) : kept;
  };
  const fill = (most = FIRST_ROWS) => {
    const all = found();
    body.replaceChildren(...all.slice(0, most).map((row) => rowOf(shown, row)));
    more.textContent = `Show all ${all.length} rows`;
    more.hidden = all.length <= most;
    [...head.children].forEach((made, at) => {
      const up = view.sort?.at === at ? view.sort.up : undefined;
      made.setAttribute("aria-sort", up === undefined ? "none" : up ? "ascending" : "descending");
    });
  };
  more.onclick = () => fill(Infinity);
  head.append(...shown.map((column, at) => {
    const made = cell("th", "", column.unit === "text");
    const sort = button(headOf(column), `Sort by ${headOf(column)}`, () => {
      view.sort = sortOf(view, at);
      fill();
      remember();
    });
    sort.className = "sort";
    made.append(sort);
    return made;
  }));
  fill();
  const field = searchField("Filter rows", view.words, (words) => {
    view.words = words;
    fill();
    remember();
  });
  return [...(rows.length > FEW_ROWS ? [field] : []), table, more];
};

// A table of one axis by the other, one for each panel; or of figures side by side.
const pivots = (chart) => {
  const column = (key) => chart.columns.find((one) => one.key === key);
  if (!column("row")) return dataTable(`${chart.figure.id}-data`, chart.columns, shownRows(chart));
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
  if (caption) table.createCaption().textContent = caption;
  const text = (row) => (failed(row) ? FAILED
    : [short(row.y, value.unit), row.judged ? FAILED : ""].filter(Boolean).join(" "));
  const at = new Map(rows.map((row) => [`${row.row}\n${row.x}`, text(row)]));
  const head = table.createTHead().insertRow();
  head.append(cell("th", `${down.title} \\ ${across.title}`, true));
  head.append(...across.order.map((text) => cell("th", text)));
  const body = table.createTBody();
  for (const name of [...down.order].reverse()) {
    const line = body.insertRow();
    const first = cell("th", name || headOf(value), true);
    first.scope = "row";
    line.append(first);
    line.append(...across.order.map((x) => cell("td", at.get(`${name}\n${x}`) ?? "–")));
  }
  return table;
};

const fillTable = (details) => {
  const place = details.querySelector("div");
  const id = details.dataset.rows;
  const chart = known.get(id);
  if (chart) {
    place.replaceChildren(...dataTable(id, chart.columns, shownRows(chart)));
    return;
  }
  const { rows } = read(id);
  const found = unfold(rows).filter(wanted(rows.columns, {}));
  place.replaceChildren(...dataTable(id, rows.columns, found));
};
