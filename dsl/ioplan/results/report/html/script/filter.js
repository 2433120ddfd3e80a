// Which sessions are shown: by words, one by one, and what ratios are to.

const sessionBoxes = () => [...document.querySelectorAll("#sessions input")];

const sessionsChanged = () => {
  for (const box of sessionBoxes()) box.checked = !hidden.has(box.value);
  showLeague();
  for (const bar of document.querySelectorAll(".bars li")) bar.hidden = hidden.has(bar.dataset.label);
  again();
  document.querySelectorAll(".runs details[open]").forEach(fillTable);
  remember();
};

// All words stand somewhere in what is known of a session.
const meets = (words) => {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return (text) => wanted.every((word) => text.toLowerCase().includes(word));
};

const showOnly = (words) => {
  const found = meets(words);
  hidden.clear();
  for (const source of about.sources) {
    if (!found(Object.values(source).join(" "))) hidden.add(source.label);
  }
  for (const box of sessionBoxes()) box.parentElement.hidden = hidden.has(box.value);
  sessionsChanged();
};

const rankedBy = document.getElementById("ranked-by");
const showRanked = () => {
  for (const { value } of rankedBy.options) {
    document.getElementById(value).hidden = value !== rankedBy.value;
  }
};
if (rankedBy) rankedBy.onchange = showRanked;

const searchField = (label, value, action) => {
  const field = document.createElement("input");
  field.type = "search";
  field.placeholder = label;
  field.setAttribute("aria-label", label);
  field.value = value;
  field.oninput = () => action(field.value);
  return field;
};

const sessionTools = () => {
  const fieldset = document.getElementById("sessions");
  if (!fieldset) return;
  const tools = document.createElement("div");
  tools.className = "tools";
  const labels = chosenSessions();
  const bases = [["", "no ratios"], ...labels.map((label) => [label, `ratios to ${label}`])];
  tools.append(
    ...(labels.length > 4 ? [searchField("Filter sessions", "", showOnly)] : []),
    choice("What ratios are to", bases, compared.base, (label) => {
      compared.base = label;
      sessionsChanged();
    }),
    button("Show all", "Show all sessions", () => {
      tools.querySelectorAll("input").forEach((field) => { field.value = ""; });
      showOnly("");
    }),
  );
  (fieldset.closest("details") ?? fieldset).before(tools);
  fieldset.addEventListener("change", ({ target }) => {
    if (target.checked) hidden.delete(target.value);
    else hidden.add(target.value);
    sessionsChanged();
  });
  for (const box of sessionBoxes()) box.checked = !hidden.has(box.value);
};
