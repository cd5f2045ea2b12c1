// What plain pages cannot do: show what others changed, and take a button once. Without it, everything works all the same.
"use strict";

const EVERY = 3000; // milliseconds between looks at whether something changed
const SOON = 700; // while something is being worked out
const PATIENCE = 120000; // for a page that takes long to come, before this one looks after itself again
let isTyping = false;
let leftAt = -Infinity;

document.addEventListener("input", (event) => {
  isTyping = isTyping || event.target.id !== "count";
});

// Another page is on its way: a reload of this one would stop it.
window.addEventListener("beforeunload", () => {
  leftAt = performance.now();
});

// A second click, while the first one is on its way, is not sent. The button is switched off after the form was read.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "yes";
  isTyping = false;
  setTimeout(() => {
    for (const button of form.querySelectorAll("button")) button.disabled = true;
    if (event.submitter && event.submitter.dataset.busy) event.submitter.textContent = event.submitter.dataset.busy;
  }, 0);
});

// Back from another page, forms can be sent again.
window.addEventListener("pageshow", () => {
  leftAt = -Infinity;
  for (const form of document.forms) {
    delete form.dataset.sent;
    for (const button of form.querySelectorAll("button")) button.disabled = false;
  }
});

function show(id, isShown) {
  const found = document.getElementById(id);
  if (found) found.hidden = !isShown;
}

async function look() {
  try {
    await compare();
  } finally {
    setTimeout(look, document.querySelector("[data-until], .working, .computing") ? SOON : EVERY);
  }
}

async function compare() {
  const known = document.body.dataset.version;
  if (known && !document.hidden) {
    try {
      const reply = await fetch("/state", { cache: "no-store" });
      show("locked", reply.status === 401);
      show("lost", !reply.ok && reply.status !== 401);
      if (!reply.ok) return;
      const state = await reply.json();
      const hasSent = document.querySelector("form[data-sent]") !== null;
      const isLeaving = performance.now() - leftAt < PATIENCE;
      if (!hasSent && !isLeaving && state.version !== known) {
        // Nobody loses what they are typing; whoever is only reading sees what is new.
        if (isTyping) show("changed", true);
        else location.reload();
      }
    } catch {
      show("lost", true);
    }
  }
}

if (document.body.dataset.version) setTimeout(look, SOON);
