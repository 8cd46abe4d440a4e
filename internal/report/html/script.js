
"use strict";
(() => {
  const cards = Array.from(document.querySelectorAll(".card"), (el) => ({
    el,
    open: el.open,
    heading: el.querySelector("summary"),
    here: 0,
    files: Array.from(el.querySelectorAll(".file"), (li) => ({ el: li, status: li.dataset.status, text: null })),
  }));
  const buttons = Array.from(document.querySelectorAll(".filter"));
  const query = document.getElementById("query");
  const shown = document.getElementById("shown");
  const nothing = document.getElementById("nothing");
  const total = cards.reduce((n, c) => n + c.files.length, 0);
  const plain = (s) => s.normalize("NFKC").toLowerCase();
  let status = "";

  // Texts are read when somebody searches: a big library's page must not wait for it.
  const textOf = (file, card) => {
    if (file.text === null) {
      file.text = plain(card.heading.textContent + " " + file.el.textContent);
    }
    return file.text;
  };

  const apply = () => {
    const words = plain(query.value).split(/\s+/).filter(Boolean);
    let count = 0;
    for (const card of cards) {
      card.here = 0;
      for (const file of card.files) {
        const fits = (status === "" || file.status === status) && words.every((w) => textOf(file, card).includes(w));
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
    shown.textContent = count === total ? "" : count + " of " + total + " files";
  };

  for (const button of buttons) {
    button.disabled = false;
    button.addEventListener("click", () => {
      status = button.dataset.show;
      for (const b of buttons) b.setAttribute("aria-pressed", String(b === button));
      apply();
    });
  }
  let timer = 0;
  query.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(apply, 120);
  });
  document.getElementById("search").hidden = false;
})();
