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
  const known = document.body.dataset.version;
  const isWaiting = document.querySelector("[data-until]") !== null;
  const isWorking = isWaiting || document.querySelector(".working, .thinking") !== null;
  if (known && !document.hidden) {
    try {
      const reply = await fetch("/state", { cache: "no-store" });
      if (!reply.ok) throw new Error(String(reply.status));
      const state = await reply.json();
      show("lost", false);
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
  setTimeout(look, isWorking ? SOON : EVERY);
}

if (document.body.dataset.version) setTimeout(look, SOON);
