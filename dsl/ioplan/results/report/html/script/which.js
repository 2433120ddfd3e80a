// "Which drive for what?": the reader chooses a load and a limit, the page answers.

const whichCard = document.getElementById("which");
const whichLoads = whichCard ? read("which-loads") : [];
const LIMITS = [1, 1.5, 2, 3, 5, 7].flatMap((digit) => [1e4, 1e5, 1e6, 1e7, 1e8].map((unit) => digit * unit))
  .sort((a, b) => a - b);
const LEASTS = [0, ...[1, 2, 5].flatMap((digit) => [1e2, 1e3, 1e4, 1e5, 1e6].map((unit) => digit * unit))
  .sort((a, b) => a - b)];
const unique = (values) => [...new Set(values)];
const kinds = unique(whichLoads.map(({ kind }) => kind));
const asking = {};

// What most of the cells are of, and a limit that some of them hold.
const usualAsking = () => {
  const count = (kind) => whichLoads.filter((one) => one.kind === kind).length;
  const kind = [...kinds].sort((a, b) => count(b) - count(a))[0];
  const own = whichLoads.filter((one) => one.kind === kind);
  const metric = own.some(({ latency }) => "p99" in latency) ? "p99" : "mean";
  const sorted = own.map(({ latency }) => latency[metric]).filter(Boolean).sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)];
  return {
    kind, metric, reads: own[0].reads, least: 0,
    limit: LIMITS.find((limit) => limit > middle) ?? LIMITS.at(-1),
  };
};

const whichState = () => {
  if (!whichCard) return "";
  const usual = usualAsking();
  const changed = Object.keys(usual).filter((name) => asking[name] !== usual[name]);
  return changed.map((name) => `${name}.${name === "kind" ? kinds.indexOf(asking.kind) : asking[name]}`).join();
};

const restoreWhich = () => {
  Object.assign(asking, usualAsking());
  for (const [name, value] of partsOf(waitingState.get("which"))) {
    if (name === "kind" && kinds[numberOf(value)]) asking.kind = kinds[numberOf(value)];
    if (name === "metric" && ["mean", "p99", "p99.9"].includes(value)) asking.metric = value;
    if (name === "reads" && numberOf(value) <= 100) asking.reads = numberOf(value);
    if (name === "limit" && LIMITS.includes(numberOf(value))) asking.limit = numberOf(value);
    if (name === "least" && LEASTS.includes(numberOf(value))) asking.least = numberOf(value);
  }
  waitingState.delete("which");
};

// The drive that holds most first; what is not known last.
const whichAnswers = () => {
  const own = whichLoads.filter(({ kind }) => kind === asking.kind);
  const labels = chosenSessions().filter((label) => !hidden.has(label));
  return labels.map((label) => ({ label, held: answerOf(own.filter((one) => one.label === label), asking) }))
    .sort((a, b) => (b.held?.value ?? (b.held ? 0 : -1)) - (a.held?.value ?? (a.held ? 0 : -1)));
};

const enough = (held) => asking.least === 0 || (held?.value && held.low >= asking.least);

const whichItem = ({ label, held }) => {
  const item = document.createElement("li");
  item.className = asking.least && held ? (enough(held) ? "held" : held.high >= asking.least ? "undecided" : "failed") : "";
  item.textContent = answerText(label, held, asking);
  const said = held ? unique(held.at.against).join("; ") : "";
  if (said) {
    const small = document.createElement("small");
    small.textContent = said;
    item.append(" ", small);
  }
  return item;
};

const missingTest = () => {
  const share = `${asking.reads}/${100 - asking.reads}`;
  return `Not measured: add  run ${asking.kind} ${share} for 1min  and  vary qd in 1, 2, 4, 8, 16, 32, 64`;
};

const showWhich = () => {
  const found = whichAnswers();
  whichCard.querySelector("ol").replaceChildren(...found.map(whichItem));
  const lacking = found.some(({ held }) => !held);
  const best = found[0]?.held ? expectLine(found[0].held) : "";
  whichCard.querySelector("code").textContent = lacking ? missingTest() : best;
  for (const input of whichCard.querySelectorAll("[name]")) {
    const { name } = input;
    const lists = { limit: LIMITS, least: LEASTS };
    input.value = name in lists ? lists[name].indexOf(asking[name]) : asking[name];
    const text = { reads: `${asking.reads} %`, limit: short(asking.limit, "ns"), least: asking.least ? `${rateText(asking.least)} IOPS` : "any" }[name];
    const shown = input.parentElement.querySelector("output");
    if (shown) shown.textContent = text;
    if (text) input.setAttribute("aria-valuetext", text);
  }
};

const whichSvg = () => {
  const texts = whichAnswers().map(({ label, held }) => answerText(label, held, asking));
  const head = [about.simulated, `${asking.kind}, ${asking.reads} % reads`].filter(Boolean).join(": ");
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const lines = [head, ...texts];
  made.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  made.setAttribute("viewBox", `0 0 ${Math.max(...lines.map((line) => line.length)) * 7.4 + 24} ${lines.length * 22 + 16}`);
  lines.forEach((line, k) => {
    const text = document.createElementNS("http://www.w3.org/2000/svg", "text");
    for (const [name, value] of Object.entries({ x: 12, y: 24 + 22 * k, "font-size": 13, "font-family": "sans-serif", "font-weight": k ? 400 : 700 })) {
      text.setAttribute(name, value);
    }
    text.textContent = line;
    made.append(text);
  });
  return new XMLSerializer().serializeToString(made);
};

const startWhich = () => {
  if (!whichCard) return;
  restoreWhich();
  const select = whichCard.querySelector("[name=kind]");
  select.replaceChildren(...kinds.map((kind) => new Option(kind, kind)));
  whichCard.querySelector("[name=limit]").max = LIMITS.length - 1;
  whichCard.querySelector("[name=least]").max = LEASTS.length - 1;
  whichCard.addEventListener("input", ({ target }) => {
    const lists = { limit: LIMITS, least: LEASTS };
    const number = Number(target.value);
    asking[target.name] = target.name in lists ? lists[target.name][number] : target.name === "reads" ? number : target.value;
    showWhich();
    remember();
  });
  whichCard.querySelector("button").onclick = () =>
    save(new Blob([whichSvg()], { type: "image/svg+xml" }), `which-drive-${slug(asking.kind)}.svg`);
  showWhich();
};
