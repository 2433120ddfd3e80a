// A drive that is chosen on the first screen: the others are dim everywhere.

let focused = "";

const markDrive = () => {
  if (focused) document.body.dataset.focus = "";
  else delete document.body.dataset.focus;
  for (const item of document.querySelectorAll(".headline li")) {
    item.classList.toggle("chosen", item.dataset.label === focused);
    item.classList.toggle("hidden", hidden.has(item.dataset.label));
  }
  for (const chip of document.querySelectorAll(".drives button")) {
    chip.setAttribute("aria-pressed", String(chip.dataset.label === focused));
  }
};

const focusDrive = (label) => {
  focused = focused === label ? "" : label;
  for (const chart of known.values()) chart.lit = focusedSeries(chart);
  markDrive();
  again();
  remember();
};

// The series of the chosen drive, where a chart has one.
const focusedSeries = (chart) => focused && texts(chart, seriesKey(chart)).includes(focused) ? focused : "";

for (const chip of document.querySelectorAll(".drives button")) {
  chip.onclick = () => focusDrive(chip.dataset.label);
}
for (const more of document.querySelectorAll("button.all")) {
  more.onclick = () => {
    const all = more.closest(".headline").classList.toggle("all");
    more.setAttribute("aria-expanded", String(all));
  };
}
