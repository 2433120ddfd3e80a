"use strict";
// Renews what changes of the drive jobs on this page, every 2 s.
const table = document.querySelector("table[data-live]");
const age = document.getElementById("age");

function show(states) {
  for (const [session, texts] of Object.entries(states)) {
    const row = document.getElementById(session);
    if (!row) continue;
    texts.forEach((text, at) => {
      const cell = row.cells[at + Number(table.dataset.from)];
      if (cell.textContent !== text) cell.textContent = text;
      if (at === 0) cell.className = `is ${text}`;
    });
  }
}

async function renew() {
  try {
    const answer = await fetch(table.dataset.live);
    const seconds = Number(answer.headers.get("Age"));
    if (answer.ok) show(await answer.json());
    age.hidden = answer.ok && !seconds;
    age.textContent = answer.ok
      ? `The database does not answer: this is ${seconds} s old.`
      : "The database does not answer.";
  } catch {
    age.hidden = false;
    age.textContent = "The page does not answer.";
  }
}

if (table) setInterval(() => document.hidden || renew(), 2000);
