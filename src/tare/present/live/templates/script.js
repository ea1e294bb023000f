// Replaces the parts of the page that the server says have changed. A page that nobody sees asks for nothing.
"use strict";
const link = document.getElementById("link");
const SILENT_MS = 25_000; // the server says something every ten seconds, if only that it lives
let events = null;
let silence;

function heard() {
  link.textContent = "";
  const since = new Date().toTimeString().slice(0, 8);
  clearTimeout(silence);
  silence = setTimeout(() => { link.textContent = `The server has said nothing since ${since}.`; }, SILENT_MS);
}

function kept(element) {
  return {
    ticked: [...element.querySelectorAll("input:checked")].map((one) => one.id),
    focused: element.contains(document.activeElement) ? document.activeElement.id : "",
    scrolled: [...element.querySelectorAll(".scroll")].map((one) => one.scrollLeft),
  };
}

function replace(element, html) {
  const before = kept(element);
  element.innerHTML = html;
  for (const id of before.ticked) {
    const one = document.getElementById(id);
    if (one) one.checked = true;
  }
  if (before.focused) document.getElementById(before.focused)?.focus({ preventScroll: true });
  element.querySelectorAll(".scroll").forEach((one, at) => { one.scrollLeft = before.scrolled[at] ?? 0; });
}

function watch() {
  const page = encodeURIComponent(location.pathname + location.search);
  events = new EventSource("/events?page=" + page);
  events.onopen = heard;
  events.onerror = () => { link.textContent = "The server does not answer; this is what it said last."; };
  events.onmessage = (event) => {
    heard();
    for (const [id, html] of Object.entries(JSON.parse(event.data))) {
      const element = document.getElementById(id);
      if (!element) {
        location.reload(); // it has become another study, with other cells
        return;
      }
      replace(element, html);
    }
  };
}

function look() {
  if (document.hidden) {
    events?.close();
    events = null;
  } else if (!events) {
    watch();
  }
}

document.addEventListener("visibilitychange", look);
heard();
look();
