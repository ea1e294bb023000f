// Replaces the parts of the page that the server says have changed. A page that nobody sees asks for nothing.
"use strict";
const link = document.getElementById("link");
let events = null;

function kept(element) {
  return {
    ticked: [...element.querySelectorAll("input:checked")].map((one) => one.id),
    focused: element.contains(document.activeElement) ? document.activeElement.id : "",
    scrolled: element.querySelector(".scroll")?.scrollLeft ?? 0,
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
  const scroll = element.querySelector(".scroll");
  if (scroll) scroll.scrollLeft = before.scrolled;
}

function watch() {
  const page = encodeURIComponent(location.pathname + location.search);
  events = new EventSource("/events?page=" + page);
  events.onopen = () => { link.textContent = ""; };
  events.onerror = () => { link.textContent = "The server does not answer; this is what it said last."; };
  events.onmessage = (event) => {
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
look();
