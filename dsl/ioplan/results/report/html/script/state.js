// What the reader has chosen, in the address: `#test-2&hide=1,4&test-1-chart-2=y.log`.
// Sessions, parts and series are told by their number, as names may hold anything.

const chosenSessions = () => about.sources.map(({ label }) => label);

const sessionState = () => {
  const out = chosenSessions().flatMap((label, i) => (hidden.has(label) ? [i] : []));
  const at = chosenSessions().indexOf(focused);
  return { hide: out.join(), drive: at < 0 ? "" : String(at) };
};

const chartState = (chart) => {
  const parts = [];
  const choices = chart.modes.together.spec?.usermeta.choices ?? {};
  for (const [name, found] of Object.entries(choices)) {
    if (chart.state[name] !== Object.keys(found)[0]) parts.push(`${name}.${chart.state[name]}`);
  }
  if (chart.chosen) parts.push(`mode.${chart.chosen}`);
  if (chart.lit) parts.push(`lit.${texts(chart, seriesKey(chart)).indexOf(chart.lit)}`);
  for (const [key, text] of Object.entries(chart.picked)) {
    parts.push(`pick.${key}:${texts(chart, key).indexOf(text)}`);
  }
  if (chart.zoom) parts.push(`zoom.${chart.zoom.map((value) => value.toPrecision(6)).join(":")}`);
  return parts.join();
};

const tableState = ({ sort, words }) => [
  sort ? `sort.${sort.up ? "" : "-"}${sort.at}` : "",
  words ? `words.${encodeURIComponent(words).replaceAll(".", "%2E")}` : "",
].filter(Boolean).join();

let anchor = "";
const waitingState = new Map(); // of charts and tables that are not there yet

const address = () => {
  const parts = new Map(Object.entries(sessionState()));
  for (const [id, text] of waitingState) parts.set(id, text);
  for (const chart of known.values()) parts.set(chart.figure.id, chartState(chart));
  for (const [id, view] of tableViews) parts.set(`t-${id}`, tableState(view));
  const told = [...parts].filter(([, text]) => text).map(([id, text]) => `${id}=${text}`);
  return [anchor, ...told.sort()].join("&");
};

const remember = () => {
  const text = address();
  if (`#${text}` !== (location.hash || "#")) {
    history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
  }
};

const numberOf = (text, least = 0) => {
  const value = Number(text);
  return Number.isInteger(value) && value >= least ? value : undefined;
};

const partsOf = (text) => (text ?? "").split(",").map((part) => {
  const at = part.indexOf(".");
  return [part.slice(0, at), part.slice(at + 1)];
});

// Whatever an address says, a chart takes only what it has.
const restoreChart = (chart) => {
  const choices = chart.modes.together.spec?.usermeta.choices ?? {};
  for (const [name, value] of partsOf(waitingState.get(chart.figure.id))) {
    if (name in choices && value in choices[name]) chart.state[name] = value;
    if (name === "mode" && value in chart.modes) chart.chosen = value;
    if (name === "lit") chart.lit = texts(chart, seriesKey(chart))[numberOf(value)] ?? "";
    if (name === "pick") {
      const [key, at] = value.split(":");
      const text = texts(chart, key)[numberOf(at)];
      if (text !== undefined) chart.picked[key] = text;
    }
    if (name === "zoom") {
      const ends = value.split(":").map(Number);
      if (ends.length === 2 && ends.every(Number.isFinite) && ends[0] < ends[1]) chart.zoom = ends;
    }
  }
  waitingState.delete(chart.figure.id);
};

const restoreTable = (id) => {
  const view = { sort: null, words: "" };
  for (const [name, value] of partsOf(waitingState.get(`t-${id}`))) {
    if (name === "sort" && /^-?\d+$/.test(value)) {
      view.sort = { at: Math.abs(Number(value)), up: !value.startsWith("-") };
    }
    if (name === "words") view.words = decoded(value);
  }
  waitingState.delete(`t-${id}`);
  return view;
};

const decoded = (text) => {
  try { return decodeURIComponent(text); } catch { return ""; }
};

const readAddress = () => {
  const parts = location.hash.slice(1).split("&");
  anchor = parts[0]?.includes("=") ? "" : parts.shift() ?? "";
  for (const part of parts) {
    const at = part.indexOf("=");
    waitingState.set(part.slice(0, at), part.slice(at + 1));
  }
  const labels = chosenSessions();
  hidden.clear();
  for (const text of (waitingState.get("hide") ?? "").split(",")) {
    const label = text === "" ? undefined : labels[numberOf(text)];
    if (label !== undefined) hidden.add(label);
  }
  focused = labels[numberOf(waitingState.get("drive") ?? "none")] ?? "";
  waitingState.delete("hide");
  waitingState.delete("drive");
};
