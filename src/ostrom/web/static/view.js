// The viewer. Everything is a link or a form that works without this script; it adds live rows, keys and copying.
(() => {
  "use strict";
  const all = (what, within = document) => [...within.querySelectorAll(what)];
  const one = (what, within = document) => within.querySelector(what);

  // Live: the server sends the cells of a row whose run went on. What holds the focus is replaced when it has left it.
  const late = new Map();
  const put = (old, fresh) => {
    if (!old || !fresh) return;
    late.delete(old);
    if (old.outerHTML === fresh.outerHTML) return;
    if (old.contains(document.activeElement)) late.set(old, fresh);
    else old.replaceWith(fresh);
  };
  document.addEventListener("focusout", () => setTimeout(() => [...late].forEach(([old, fresh]) => put(old, fresh))));
  const take = (root, data) => {
    const box = document.createElement("template");
    box.innerHTML = data.html.trim().startsWith("<td") ? "<table><tbody><tr>" + data.html + "</tr></tbody></table>" : data.html;
    const row = all("[data-run]", root).find((row) => row.dataset.run === data.run);
    if (!row) { if (root.dataset.all) location.reload(); return; }
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
  // The decisions of a match, from the list of rounds: it stays while decisions are put in beside it. A key that comes
  // before the last one was answered starts from the decision that was asked for, so no key is lost.
  let asked = null;
  const current = () => asked || (one("#decision") || { dataset: {} }).dataset.place;
  const go = (choose) => {
    const links = all(".rounds [data-place]"), at = links.findIndex((link) => link.dataset.place === current());
    const link = at < 0 ? null : choose(links, at);
    if (!link) return;
    asked = link.dataset.place;
    if (window.htmx) htmx.process(link); // a list that was just put in is not bound yet; its links would load a page
    link.click();
    link.scrollIntoView({ block: "nearest" });
  };
  const beside = (way) => (links, at) => links[at + way];
  const player = (link) => link.dataset.place.split(".")[1], stepOf = (link) => link.dataset.place.split(".")[0];
  const ofPlayer = (way) => (links, at) => {
    const own = links.filter((link) => player(link) === player(links[at]));
    return own[own.indexOf(links[at]) + way];
  };
  const seat = (way) => (links, at) => {
    const next = links[at + way];
    return next && stepOf(next) === stepOf(links[at]) ? next : null;
  };
  const step = (way) => {
    const rows = all("a.row"), at = rows.indexOf(document.activeElement);
    const next = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + way))];
    if (next) next.focus();
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || one("dialog[open]")) return;
    const at = current() !== undefined, inside = event.target.closest(".words, .scroll");
    const keys = {
      j: () => (at ? go(beside(1)) : step(1)), k: () => (at ? go(beside(-1)) : step(-1)),
      ArrowDown: at && !inside ? () => go(ofPlayer(1)) : null, ArrowUp: at && !inside ? () => go(ofPlayer(-1)) : null,
      ArrowRight: at && !inside ? () => go(seat(1)) : null, ArrowLeft: at && !inside ? () => go(seat(-1)) : null,
      "/": () => { const box = one("[data-find]"); if (box) box.focus(); },
      "?": () => one("#keys").showModal(),
    };
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  ["htmx:responseError", "htmx:sendError", "htmx:historyRestore"].forEach((name) => document.addEventListener(name, () => { asked = null; }));
  // After another decision was put in: the list shows where we are, and a screen reader hears it.
  document.addEventListener("htmx:afterSwap", () => {
    const shown = one("#decision");
    if (!shown) return;
    asked = null; // a newer request replaces an older one, so this is the last one asked for
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
