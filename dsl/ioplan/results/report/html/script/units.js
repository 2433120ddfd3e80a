// Values as people read them, in the texts of core/units.py: `tick` is for axes, `short`
// for all else.

const THREE = 3;
const OF_TICKS = 4;

const grouped = (text) => text.replace(/^-?\d+/, (whole) => whole.replace(/\B(?=(\d{3})+$)/g, ","));

const digits = (value, count = THREE) => {
  if (!value) return "0";
  const shown = value.toExponential(count - 1);
  const exponent = Number(shown.split("e")[1]);
  return grouped(Number(shown).toFixed(Math.max(0, count - 1 - exponent)));
};

const withoutZeros = (text) =>
  text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");

const scaled = (value, steps, count) => {
  const [factor, unit] =
    steps.find(([step]) => Math.abs(value) >= step * 0.9995) ?? steps.at(-1);
  return digits(value / factor, count) + unit;
};

const IOPS = [[1e6, "M"], [1e3, "k"]];
const RATES = [[1e9, " GB/s"], [1e6, " MB/s"]];
const LATENCIES = [[1e9, " s"], [1e6, " ms"], [1e3, " µs"], [1, " ns"]];
const BYTES = [[1e12, " TB"], [1e9, " GB"], [1e6, " MB"], [1e3, " kB"], [1, " B"]];
const KIB = 1024;
const MIB = KIB * KIB;
const SIZES = [[2 ** 40, " TiB"], [2 ** 30, " GiB"], [MIB, " MiB"], [KIB, " KiB"], [1, " B"]];

const iopsText = (iops, count) =>
  Math.abs(iops) < 9995 ? digits(iops, count) : scaled(iops, IOPS, count);

const pair = (value, base, large, small) => {
  const low = value % base;
  const high = `${Math.floor(value / base)} ${large}`;
  return low ? `${high} ${String(low).padStart(2, "0")} ${small}` : high;
};

const timeText = (seconds) => {
  if (seconds < 59.95) return `${withoutZeros(digits(seconds))} s`;
  const whole = Math.floor(seconds + 0.5);
  if (whole < 3600) return pair(whole, 60, "min", "s");
  if (whole < 86400) return pair(Math.floor(whole / 60), 60, "h", "min");
  return pair(Math.floor(whole / 3600), 24, "d", "h");
};

const sizeOrAmount = (value, count) => {
  const isSize = value > 0 && value < 1e9 && value % (value >= 1e6 ? MIB : KIB) === 0;
  return isSize ? withoutZeros(scaled(value, SIZES)) : scaled(value, BYTES, count);
};

const nines = (value) =>
  `${(100 - 10 ** (2 - value)).toFixed(Math.max(0, Math.floor(value + 0.5) - 2))} %`;

const TEXTS = {
  ns: (value, count) => scaled(value, LATENCIES, count),
  "B/s": (value, count) => scaled(value, RATES, count),
  "B/s per W": (value, count) => `${scaled(value, RATES, count)} per W`,
  B: sizeOrAmount,
  size: (value, count) => withoutZeros(scaled(value, SIZES, count)),
  s: timeText,
  "%": (value, count) => `${withoutZeros(digits(value, count))} %`,
  percentile: (value) => `${withoutZeros(digits(value, 6))} %`,
  nines,
};

const short = (value, unit, count = THREE) => {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return value;
  if (TEXTS[unit]) return TEXTS[unit](value, count);
  if (unit.startsWith("1/s")) return iopsText(value, count);
  if (!unit && Number.isInteger(value)) return grouped(String(value));
  return `${digits(value, count)} ${unit}`.trim();
};

const BARE = new Set(["ns", "s", "B/s", "1/s", "B"]);

// The title of the axis says what it is per or of.
const tick = (value, unit) => {
  if (!value && BARE.has(unit)) return "0";
  const own = unit.split(" of ")[0].replace(/ per W$/, "");
  return withoutZeros(short(value, own, OF_TICKS));
};

charts.expressionFunction("tick", tick);
charts.expressionFunction("short", short);
