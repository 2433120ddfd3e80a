// Tables are made when they are opened; a long one shows its beginning first. Words
// filter their rows, and which sessions are shown.

const FIRST_ROWS = 200;
const FEW_ROWS = 20; // more can be filtered
const tableViews = new Map(); // by the id of a table: how it is sorted and filtered

// All words stand somewhere in a text.
const meets = (words) => {
  const sought = words.toLowerCase().split(/\s+/).filter(Boolean);
  return (text) => sought.every((word) => text.toLowerCase().includes(word));
};

const searchField = (label, value, action) => element("input", {
  type: "search", placeholder: label, ariaLabel: label, value, oninput: ({ target }) => action(target.value),
});

const cell = (text, isText, ...children) =>
  element("td", { textContent: text, className: isText ? "text" : "" }, ...children);

const heading = (text, isText, ...children) =>
  element("th", { textContent: text, className: isText ? "text" : "", scope: "col" }, ...children);

const headOf = ({ title }) => title || "cell";

const wordsOf = (column, row) => column.key === "status" && failed(row)
  ? `${FAILED} ${row.status}` : short(row[column.key], column.unit);

// Texts of an axis have an order of their own; what is absent comes last.
const sortedRows = (rows, { key, order }, up) => {
  const place = new Map(order.map((text, i) => [text, i]));
  const value = (row) => place.get(row[key]) ?? row[key] ?? null;
  return [...rows].sort((first, second) => {
    const [a, b] = [value(first), value(second)];
    if (a === null || b === null) return (a === null) - (b === null);
    const order = typeof a === "number" ? a - b : String(a).localeCompare(b);
    return up ? order : -order;
  });
};

// A table whose heads sort it, and with many rows a field that filters it.
const dataTable = (id, columns, rows) => {
  if (!tableViews.has(id)) tableViews.set(id, savedTable(id));
  const view = tableViews.get(id);
  const shown = columns.filter(isListed);
  const table = element("table");
  const head = table.createTHead().insertRow();
  const body = table.createTBody();
  const matching = () => {
    const fits = meets(view.words);
    const filtered = view.words
      ? rows.filter((row) => fits(shown.map((column) => wordsOf(column, row)).join(" "))) : rows;
    const column = shown[view.sort?.at];
    return column ? sortedRows(filtered, column, view.sort.up) : filtered;
  };
  const fill = (most = FIRST_ROWS) => {
    const all = matching();
    body.replaceChildren(...all.slice(0, most).map((row) => element("tr", {}, ...shown.map((column) =>
      cell(wordsOf(column, row), column.unit === "text")))));
    more.textContent = `Show all ${all.length} rows`;
    more.hidden = all.length <= most;
    [...head.children].forEach((column, at) => {
      const way = view.sort?.up ? "ascending" : "descending";
      column.ariaSort = view.sort?.at === at ? way : "none";
    });
    remember();
  };
  const more = element("button", { type: "button", onclick: () => fill(Infinity) });
  head.append(...shown.map((column, at) => {
    const sort = button(headOf(column), `Sort by ${headOf(column)}`, () => {
      const again = view.sort?.at === at;
      view.sort = again && !view.sort.up ? null : { at, up: !again };
      fill();
    });
    sort.className = "sort";
    return heading("", column.unit === "text", sort);
  }));
  fill();
  const field = searchField("Filter rows", view.words, (words) => {
    view.words = words;
    fill();
  });
  return [...(rows.length > FEW_ROWS ? [field] : []), table, more];
};

// A table of one axis by the other, one for each panel; or of figures side by side.
const pivots = (chart) => {
  const rows = shownRows(chart);
  if (!columnOf(chart, "row")) return dataTable(`${chart.figure.id}-data`, chart.columns, rows);
  const { panel } = chart.channels;
  if (!panel) return [pivot(chart, "", rows)];
  return texts(chart, panel).map((text) => pivot(chart, text, rows.filter((row) => row[panel] === text)));
};

const pivot = (chart, caption, rows) => {
  const [across, down, value] = ["x", "row", "y"].map((key) => columnOf(chart, key));
  const table = element("table");
  if (caption) table.createCaption().textContent = caption;
  const text = (row) => (failed(row) ? FAILED
    : [short(row.y, value.unit), row.judged ? FAILED : ""].filter(Boolean).join(" "));
  const at = new Map(rows.map((row) => [`${row.row}\n${row.x}`, text(row)]));
  const head = table.createTHead().insertRow();
  head.append(heading(`${down.title} \\ ${across.title}`, true), ...across.order.map((x) => heading(x)));
  const body = table.createTBody();
  for (const name of [...down.order].reverse()) {
    const first = Object.assign(heading(name || headOf(value), true), { scope: "row" });
    body.insertRow().append(first, ...across.order.map((x) => cell(at.get(`${name}\n${x}`) ?? "–")));
  }
  return table;
};

const fillTable = (details) => {
  const id = details.dataset.rows;
  const chart = known.get(id);
  const { columns, ...rows } = chart ?? read(id).rows;
  const shown = chart ? shownRows(chart) : unfold({ columns, ...rows }).filter(wanted(columns, {}));
  details.querySelector("div").replaceChildren(...dataTable(id, columns, shown));
};
