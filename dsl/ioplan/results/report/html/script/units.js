// Values as people read them. `tick` is for axes, `short` for labels in a chart,
// `exact` for tables and hints.

const digits = (value, most) => String(Number(value.toPrecision(most)));

const scaled = (value, most, steps) => {
  const [factor, unit] =
    steps.find(([step]) => Math.abs(value) >= step * 0.9995) ?? steps.at(-1);
  return digits(value / factor, most) + unit;
};

const SI = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
const TIMES = [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]];
const DURATIONS = [[86400, " d"], [3600, " h"], [60, " min"], [1, " s"]];
const DECIMAL = [[1e12, " TB"], [1e9, " GB"], [1e6, " MB"], [1e3, " kB"], [1, " B"]];
const BINARY = [[2 ** 40, " TiB"], [2 ** 30, " GiB"], [2 ** 20, " MiB"], [1024, " KiB"], [1, " B"]];

const CPU = "% of one CPU";

const nines = (value) =>
  (100 - 10 ** (2 - value)).toFixed(Math.max(0, Math.round(value) - 2)) + "%";

const worded = (value, unit, most) => {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return value;
  if (value === 0 && !["nines", "%", CPU].includes(unit)) return "0";
  switch (unit) {
    case "ns": return scaled(value, most, TIMES);
    case "B/s": case "B/s per W": return digits(value / 1e6, most);
    case "size": return scaled(value, most, BINARY);
    case "B": return scaled(value, most, DECIMAL);
    case "%": case CPU: return digits(value, most) + "%";
    case "percentile": return digits(value, 6) + "%";
    case "s": return digits(value, 6) + " s";
    case "duration": return scaled(value, most, DURATIONS.slice(value % 86400 ? 1 : 0));
    case "nines": return nines(value);
    case "": return Math.abs(value) < 1e4 ? digits(value, 5) : scaled(value, most, SI);
    default: return scaled(value, most, SI);
  }
};

const tick = (value, unit) => worded(value, unit, 4);
const short = (value, unit) => worded(value, unit, 3);

// Factor, decimals and name of what a table shows a unit in.
const TABLE_UNITS = {
  ns: [1e3, 3, "µs"],
  "B/s": [1e6, 3, "MB/s"],
  "1/s": [1, 1, "1/s"],
  "1/s per %": [1, 2, ""],
  [CPU]: [1, 3, CPU],
  "1/s per W": [1, 2, ""],
  "B/s per W": [1e6, 3, "MB/s per W"],
  W: [1, 3, "W"],
  "°C": [1, 1, "°C"],
  "%": [1, 3, "%"],
  percentile: [1, 6, "%"],
  s: [1, 3, "s"],
};

const formats = new Map(); // making one takes longer than many uses of it

const number = (value, most, least = 0) => {
  const key = `${most} ${least}`;
  if (!formats.has(key)) {
    formats.set(key, new Intl.NumberFormat("en-US",
      { maximumFractionDigits: most, minimumFractionDigits: least }));
  }
  return formats.get(key).format(value);
};

const behindPoint = (shown, digits, most) => (shown
  ? Math.min(most, Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(shown))))) : 0);

// `digits` are what a value has: a percentile has those of its bucket.
const plain = (value, unit, digits = 0, least = 0) => {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return value;
  if (unit === "size" || unit === "nines") return worded(value, unit, 6);
  const [factor, most] = TABLE_UNITS[unit] ?? [1, 3];
  if (!digits) return number(value / factor, most, least);
  const shown = Number((value / factor).toPrecision(digits));
  return number(shown, most, behindPoint(shown, digits, most));
};

// The decimals that the values of a column need.
const decimalsOf = ({ unit, digits = 0 }, values) => {
  const [factor, most] = TABLE_UNITS[unit] ?? [1, 3];
  const needed = (value) => {
    if (digits) return behindPoint(Number((value / factor).toPrecision(digits)), digits, most);
    return Math.round(Math.abs(value / factor) * 10 ** most) % 10 ** most ? most : 0;
  };
  return values.reduce((found, value) =>
    (found < most && typeof value === "number" ? Math.max(found, needed(value)) : found), 0);
};

// Blanks as wide as a digit and as a point put the points of a column in one line.
const aligned = (text, most) => {
  const [, found] = /^-?[\d,]+\.?(\d*)$/.exec(text) ?? [];
  if (!most || found === undefined) return text;
  return text + (found ? "" : "\u2008") + "\u2007".repeat(most - found.length);
};

// A cell in a column, with as many decimals as all of its rows.
const lined = ({ unit, digits = 0, decimals = 0 }, value) =>
  aligned(plain(value, unit, digits, digits ? 0 : decimals), decimals);

// In a table of two axes, rates of a thousand and more do without decimals.
const round = (column, value) =>
  column.unit === "1/s" && value >= 1000 ? aligned(number(value, 0), column.decimals)
    : lined(column, value);

const exact = (value, { unit, digits }) => {
  const name = TABLE_UNITS[unit]?.[2] ?? (["text", "size", "nines"].includes(unit) ? "" : unit);
  return value === null || value === undefined ? "–" : `${plain(value, unit, digits)} ${name}`.trim();
};

const heading = (column) => {
  const name = TABLE_UNITS[column.unit]?.[2] ?? (column.unit === "B" ? "B" : "");
  return name && name !== "1/s" ? `${column.title} (${name})` : column.title || "cell";
};

charts.expressionFunction("tick", tick);
charts.expressionFunction("short", short);
