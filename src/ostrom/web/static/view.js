// The viewer. Everything is a link or a form that works without this script; it adds live rows, keys and copying.
(() => {
  "use strict";
  const all = (what, within = document) => [...within.querySelectorAll(what)];
  const one = (what, within = document) => within.querySelector(what);

  // Live: the server sends the cells of a row whose run went on. What holds the focus is left alone.
  const put = (old, fresh) => { if (old && fresh && old.outerHTML !== fresh.outerHTML && !old.contains(document.activeElement)) old.replaceWith(fresh); };
  const take = (root, data) => {
    const box = document.createElement("template");
    box.innerHTML = data.html.trim().startsWith("<td") ? "<table><tbody><tr>" + data.html + "</tr></tbody></table>" : data.html;
    const row = all("[data-run]", root).find((row) => row.dataset.run === data.run);
    if (!row) { if (root.tagName === "TABLE") location.reload(); return; }
    const cells = all("[data-cell]", box.content);
    if (cells.length) cells.forEach((cell) => put(one(`[data-cell="${cell.dataset.cell}"]`, row), cell));
    else put(row, box.content.firstElementChild);
  };
  all("[data-live]").forEach((root) => {
    let stream = null, last = Date.now();
    const listen = () => {
      if (stream) stream.close();
      stream = new EventSource(root.dataset.live);
      last = Date.now();
      stream.addEventListener("ping", () => { last = Date.now(); });
      stream.addEventListener("cells", (event) => { last = Date.now(); take(root, JSON.parse(event.data)); });
    };
    listen();
    // An error reply closes an EventSource for good, and a silent one looks open.
    setInterval(() => { if (stream.readyState === 2 || Date.now() - last > 40000) listen(); }, 3000);
  });

  // Copying.
  const say = (button, text) => { const told = one("[role=status]", button.parentElement); if (told) told.textContent = text; };
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-copy], button[data-text]");
    if (!button) return;
    try {
      const text = button.dataset.text !== undefined ? button.dataset.text : await (await fetch(button.dataset.copy)).text();
      await navigator.clipboard.writeText(text);
      say(button, "Copied.");
    } catch { say(button, "This browser does not allow copying here."); }
  });

  // Keys.
  const typing = (target) => target.closest("input, textarea, select, [contenteditable]");
  const go = (place) => {
    const link = place && one(`.rounds [data-place="${place}"]`);
    if (link) { link.click(); link.scrollIntoView({ block: "nearest" }); }
  };
  const current = () => { const shown = one("#decision"); return shown ? shown.dataset : null; };
  const step = (way) => {
    const rows = all("a.row"), at = rows.indexOf(document.activeElement);
    const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + way))];
    if (next) next.focus();
  };
  const seat = (way) => {
    const links = all(".seats a"), at = links.findIndex((link) => link.getAttribute("aria-current"));
    if (links[at + way]) links[at + way].click();
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || one("dialog[open]")) return;
    const at = current(), inside = event.target.closest(".words, .scroll");
    const keys = {
      j: () => (at ? go(at.after) : step(1)), k: () => (at ? go(at.before) : step(-1)),
      ArrowDown: at && !inside ? () => go(at.down) : null, ArrowUp: at && !inside ? () => go(at.up) : null,
      ArrowRight: at && !inside ? () => seat(1) : null, ArrowLeft: at && !inside ? () => seat(-1) : null,
      "/": () => { const box = one("[data-find]"); if (box) box.focus(); },
      "?": () => one("#keys").showModal(),
    };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  // After another decision was put in: the list shows where we are, and a screen reader hears it.
  document.addEventListener("htmx:afterSwap", () => {
    const shown = one("#decision");
    if (!shown) return;
    all(".rounds [data-place]").forEach((link) => {
      if (link.dataset.place === shown.dataset.place) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    });
    const title = one("h2", shown);
    if (title) document.title = title.textContent.trim() + " · Ostrom";
  });
  const chosen = one(".rounds [aria-current]");
  if (chosen) chosen.scrollIntoView({ block: "nearest" });
})();
