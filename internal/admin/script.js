// Puts the page's new content in every five seconds, unless somebody is at a field or has written into one. When there is
// none to be had, the page says so.
"use strict";
(() => {
  const busy = () => {
    const main = document.querySelector("main");
    if (document.hidden || main.contains(document.activeElement)) return true;
    return [...main.querySelectorAll("input, select")].some((f) =>
      f.type === "checkbox" ? f.checked !== f.defaultChecked
        : f.tagName === "SELECT" ? [...f.options].some((o) => o.selected !== o.defaultSelected && (o.defaultSelected || o.index !== 0))
          : f.value !== f.defaultValue || "typed" in f.dataset);
  };
  setInterval(async () => {
    if (busy()) return;
    let next = null;
    try {
      const answer = await fetch(location.href, { redirect: "error" });
      if (answer.ok) next = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
    } catch {
      // the gateway is away, or its answer is a redirect to the login; the next look may find the page
    }
    document.getElementById("stale").hidden = next !== null;
    if (next && !busy()) document.querySelector("main").replaceWith(next);
  }, 5000);
})();
