
"use strict";
(() => {
  const cards = Array.from(document.querySelectorAll(".card"), (el) => ({
    el,
    open: el.open,
    gap: el.classList.contains("gap"),
    heading: el.querySelector("summary"),
    here: 0,
    files: Array.from(el.querySelectorAll(".file"), (li) => ({ el: li, shows: [li.dataset.status, li.dataset.also], text: null })),
  }));
  const buttons = Array.from(document.querySelectorAll(".filter"));
  const query = document.getElementById("query");
  const shown = document.getElementById("shown");
  const nothing = document.getElementById("nothing");
  const gaps = document.getElementById("gaps"); // a view of its own: what is not there is no file
  const total = cards.reduce((n, c) => n + (c.gap ? 0 : c.files.length), 0);
  const plain = (s) => s.normalize("NFKC").toLowerCase();
  let status = "";

  // Texts are read when somebody searches: a big library's page must not wait for it.
  const textOf = (file, card) => {
    if (file.text === null) {
      const buttons = Array.from(file.el.querySelectorAll(".pin"), (b) => b.textContent);
      file.text = plain(buttons.reduce((text, b) => text.replace(b, ""), card.heading.textContent + " " + file.el.textContent));
    }
    return file.text;
  };

  const apply = () => {
    const words = plain(query.value).split(/\s+/).filter(Boolean);
    let count = 0;
    if (gaps) gaps.hidden = status !== "missing";
    for (const card of cards) {
      card.here = 0;
      if (card.gap && status !== "missing") continue;
      for (const file of card.files) {
        const fits = (status === "" || file.shows.includes(status)) && words.every((w) => textOf(file, card).includes(w));
        file.el.hidden = !fits;
        if (fits) card.here++;
      }
      count += card.here;
    }
    // What was asked for is unfolded, unless that is more than anybody reads and a browser lays out at once.
    const unfold = (words.length > 0 || status !== "") && count <= 600;
    for (const card of cards) {
      card.el.hidden = card.here === 0;
      card.el.open = unfold ? card.here > 0 : card.open;
    }
    nothing.hidden = count > 0 || total === 0;
    shown.textContent = count === total || status === "missing" ? "" : shown.dataset.text.replace("{n}", count.toLocaleString("en-US"))
      .replace("{total}", total.toLocaleString("en-US"));
    for (const b of buttons) b.setAttribute("aria-pressed", String(b.dataset.show === status));
  };

  // What is shown stands in the address, #ambiguous&q=dune, so that it can be sent on and the browser's way back works.
  const read = () => {
    const asked = new URLSearchParams(location.hash.slice(1));
    status = buttons.map((b) => b.dataset.show).find((show) => show && asked.has(show)) || "";
    query.value = asked.get("q") || "";
    apply();
  };
  const write = (how) => {
    const words = query.value.trim();
    const hash = "#" + [status, words && "q=" + encodeURIComponent(words)].filter(Boolean).join("&");
    if (hash !== (location.hash || "#")) history[how](null, "", hash);
  };

  for (const button of buttons) {
    button.disabled = false;
    button.addEventListener("click", () => {
      status = button.dataset.show;
      write("pushState");
      apply();
    });
  }
  let timer = 0;
  const typed = () => {
    clearTimeout(timer);
    write("replaceState");
    apply();
  };
  query.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(typed, 120);
  });
  document.addEventListener("keydown", (e) => {
    if (e.target === query && e.key === "Escape") {
      e.preventDefault();
      if (query.value === "") return query.blur();
      query.value = "";
      typed();
    }
    if (e.key !== "/" || e.target === query || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    query.focus();
    query.select();
  });
  window.addEventListener("popstate", read); // of a changed fragment too

  // The command that pins all files of the list to one of its entries.
  const said = document.getElementById("said");
  const say = (what, command) => {
    said.querySelector("span").textContent = said.dataset[what];
    said.querySelector("code").textContent = command;
    said.hidden = false;
  };
  document.addEventListener("click", async (e) => {
    const pin = e.target.closest(".pin");
    if (!pin) return;
    const about = pin.closest(".file").dataset.pins.split("\n");
    const command = about.map((word) => "anivault pin " + word + " " + pin.dataset.entry).join("\n");
    let copied = true;
    try {
      await navigator.clipboard.writeText(command);
    } catch { // a page of http: has no clipboard
      const box = document.body.appendChild(document.createElement("textarea"));
      box.value = command;
      box.select();
      copied = document.execCommand("copy");
      box.remove();
      pin.focus();
    }
    say(copied ? "copied" : "refused", command);
  });
  if (gaps) gaps.hidden = true;
  document.documentElement.classList.add("acts");
  document.getElementById("search").hidden = false;
  if (location.hash.length > 1) read();
})();
