// Beside a figure its ratio to that of a session which the reader chooses.

const MOST_COMPARED = 8; // usually; of more sessions the reader asks for it
const RATED = new Set(["1/s", "B/s", "ns", "1/s per %", CPU, "W", "1/s per W", "B/s per W"]);
const compared = { base: "" };

const usualBase = () => {
  const { length } = about.sources;
  return length > 1 && length <= MOST_COMPARED ? about.sources[0].label : "";
};

const UNCOMPARED = new Set(["status", "judged", "rounds"]);

// The rows that are alike but for their session have one name.
const placeOf = (columns, x) => {
  const keys = columns.filter(({ key, title, unit }) =>
    key === x || (unit === "text" && title !== "session" && !UNCOMPARED.has(key))).map(({ key }) => key);
  return (row) => keys.map((key) => row[key]).join("\n");
};

// For a row and a column: the ratio to the row of the base at the same place; null in
// a column without ratios.
const ratios = (columns, rows, axes = {}) => {
  const session = sessionKey(columns);
  if (!session || !compared.base || hidden.has(compared.base)) return () => null;
  const place = placeOf(columns, axes.x);
  const values = valueKeys(columns, axes);
  const bases = new Map(rows.filter((row) => row[session] === compared.base)
    .map((row) => [place(row), row]));
  return (row, { key, unit }) => {
    if (!values.includes(key) || !RATED.has(unit)) return null;
    const base = bases.get(place(row))?.[key];
    return row[session] !== compared.base && base > 0 && typeof row[key] === "number" ? ratioText(row[key] / base) : "";
  };
};

const ratioText = (ratio) => `×${ratio < 10 ? ratio.toFixed(2) : digits(ratio, 3)}`;

const valueKeys = (columns, axes) => {
  const y = axes.y === "row" ? "y" : axes.y;
  return y ? [y] : columns.filter(({ unit }) => RATED.has(unit)).map(({ key }) => key);
};

// The ratios of the first screen, which have a base without a choice, too.
const leagueNotes = [...document.querySelectorAll(".glance-note")].map((note) => ({
  note, text: note.textContent, base: /^Ratios are to (.+?);/.exec(note.textContent)?.[1],
}));
const leagueFigures = [...document.querySelectorAll("[data-by-base]")].map((cell) => ({
  cell, text: cell.textContent, texts: JSON.parse(cell.dataset.byBase),
}));

const showLeague = () => {
  for (const { cell, text, texts } of leagueFigures) {
    cell.textContent = texts[compared.base] ?? text;
  }
  for (const { note, text, base } of leagueNotes) {
    if (base && leagueFigures.some(({ texts }) => compared.base in texts)) {
      note.textContent = text.replace(`to ${base};`, () => `to ${compared.base};`);
    } else note.textContent = text;
  }
};
