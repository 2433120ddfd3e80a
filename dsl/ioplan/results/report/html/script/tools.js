// The controls of a chart: which part, which way of drawing, which scales, downloads.

const button = (text, label, action) => {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.setAttribute("aria-label", label);
  made.onclick = () => action(made);
  return made;
};

const choice = (label, options, value, action) => {
  const select = document.createElement("select");
  select.setAttribute("aria-label", label);
  select.append(...options.map(([text, name]) => new Option(name, text)));
  select.value = value;
  select.onchange = () => action(select.value);
  return select;
};

const switches = (chart) => Object.entries(chart.spec?.usermeta.choices ?? {})
  .filter(([, found]) => Object.keys(found).length > 1)
  .map(([channel, found]) => {
    const positions = Object.keys(found);
    const words = `${channel}: ${chart.state[channel]}`;
    return button(words, `${channel} axis, ${words}`, () => {
      const next = (positions.indexOf(chart.state[channel]) + 1) % positions.length;
      chart.state[channel] = positions[next];
      redraw(chart);
    });
  });

const picker = (chart) => {
  const { key, value } = chart.pick;
  if (!key) return [];
  const options = texts(chart, key).map((text) => [text, text]);
  return [choice("Which part to show", options, value, (text) => {
    chart.picked[key] = text;
    redraw(chart);
  })];
};

const MODE_NAMES = { together: "all together", apart: "one panel each", spread: "median and band" };

const modeChoice = (chart) => {
  const modes = Object.keys(chart.modes);
  if (modes.length < 2) return [];
  const options = modes.map((mode) => [mode, MODE_NAMES[mode]]);
  const highlight = [["", "highlight…"], ...shownSeries(chart).map((text) => [text, text])];
  return [
    choice("How to draw many series", options, chart.mode, (mode) => {
      chart.chosen = mode;
      redraw(chart);
    }),
    ...(chart.mode === "apart" ? [] : [
      choice("Which series to highlight", highlight, chart.lit, (text) => keep(chart, text))]),
  ];
};

const unzoom = (chart) =>
  chart.zoom ? [button("whole range", "Show the whole range of x", () => zoomTo(chart))] : [];

// Drawn anew with its chart; who used a control by the keyboard keeps it.
const refill = (place, controls) => {
  const at = [...place.children].indexOf(document.activeElement);
  place.replaceChildren(...controls);
  if (at >= 0) place.children[at]?.focus();
};

const showTools = (chart) => {
  const kinds = chart.spec ? ["PNG", "SVG", "CSV"] : ["CSV"];
  const saves = kinds.map((kind) =>
    button(kind, `Download as ${kind}`, () => saveAs[kind](chart)));
  refill(chart.figure.querySelector(".choices"), [...picker(chart), ...modeChoice(chart), ...unzoom(chart)]);
  refill(chart.figure.querySelector(".tools"), [...switches(chart), ...saves]);
};
