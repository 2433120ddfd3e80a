// Which sessions are shown: by words, or one by one.

const sessionBoxes = () => [...document.querySelectorAll("#sessions input")];

const sessionsChanged = () => {
  for (const box of sessionBoxes()) box.checked = !hidden.has(box.value);
  markDrive();
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
  tools.append(
    ...(labels.length > 4 ? [searchField("Filter sessions", "", showOnly)] : []),
    button("Show all", "Show all sessions", () => {
      tools.querySelectorAll("input").forEach((field) => { field.value = ""; });
      showOnly("");
    }),
  );
  fieldset.before(tools);
  fieldset.addEventListener("change", ({ target }) => {
    if (target.checked) hidden.delete(target.value);
    else hidden.add(target.value);
    sessionsChanged();
  });
  for (const box of sessionBoxes()) box.checked = !hidden.has(box.value);
};
