// Colours and markers: those of `palette.py`, the same for a drive in every chart.

const { colors: COLORS, grey: GREY } = about.palette;
const STYLES = new Map(about.sources.map(({ label }, i) => [label, COLORS[i] ?? GREY]));
const ON_DARK = Object.fromEntries(COLORS.map(({ light, dark }) => [light, dark]));

// A drive has its own; other texts have them in their order, and then with other markers.
const styleOf = ({ title, order }, text) => {
  if (title === "session" && STYLES.has(text)) return STYLES.get(text);
  const at = order.indexOf(text);
  const { shape } = COLORS[(at + Math.floor(at / COLORS.length)) % COLORS.length];
  return { ...COLORS[at % COLORS.length], shape };
};
const INK = { light: "#16202c", dark: "#e7ecf2" };
const ALARM = { light: "#b3261e", dark: "#ff9a90" }; // as the page marks what failed
const SOFT = { light: "#536170", dark: "#a3afbd" };
const GRID = { light: "#e3e7ec", dark: "#2f3845" };
const RAMP = { light: [0.05, 0.86], dark: [0.28, 1] };

let chosen = "auto";
let printing = false;
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

const theme = () => {
  if (printing) return "light";
  return chosen === "auto" ? (prefersDark.matches ? "dark" : "light") : chosen;
};

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";

const config = (name, width, columns) => ({
  background: null,
  font: FONT,
  view: { stroke: null },
  mark: { color: COLORS[0][name] },
  text: { color: INK[name] },
  rule: { color: INK[name] },
  range: {
    category: COLORS.map((one) => one[name]),
    ordinal: { scheme: "viridis", extent: RAMP[name] },
    ramp: { scheme: "viridis" },
    heatmap: { scheme: "viridis" },
  },
  axis: {
    labelColor: SOFT[name], titleColor: INK[name], gridColor: GRID[name],
    domainColor: SOFT[name], tickColor: SOFT[name],
    labelFontSize: 11, titleFontSize: 12, titleFontWeight: 500, titlePadding: 8,
    labelOverlap: "greedy", labelSeparation: 4, labelFlush: false,
  },
  axisY: { domain: false, ticks: false, labelPadding: 6, tickCount: 6, minExtent: 44 },
  axisXQuantitative: { tickCount: Math.max(2, Math.round(width / 90)) },
  legend: {
    orient: "bottom", labelColor: INK[name], titleColor: SOFT[name], titleFontWeight: 500,
    labelFontSize: 12, titleFontSize: 12, labelLimit: 240, symbolSize: 90,
    titleOrient: "left", titleAnchor: "middle", columnPadding: 14, offset: 12,
    layout: { bottom: { direction: "vertical", anchor: "start", margin: 4 } },
    columns, gradientLength: 140,
  },
  header: { titleColor: SOFT[name], titleFontSize: 12, titleFontWeight: 500, labelColor: INK[name], labelFontSize: 12, labelFontWeight: 600 },
  title: { color: INK[name], subtitleColor: SOFT[name], anchor: "start", fontSize: 15 },
});
