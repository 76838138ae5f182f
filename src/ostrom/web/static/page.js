// One page, kept up to date. Everything here also works without this script, by forms and reloads.
(() => {
  "use strict";
  const get = (id) => document.getElementById(id);
  let sending = false, missed = false, stream = null, last = Date.now(), ends = 0, told = 0, timer = 0;

  const clock = () => {
    const box = document.querySelector("[data-left]");
    if (!box) return;
    const left = Math.max(0, Math.ceil((ends - performance.now()) / 1000));
    box.textContent = left;
    const say = get("clock-said");
    if (say && told !== left && (left === 10 || left === 5)) { told = left; say.textContent = left + " " + box.dataset.unit; }
  };
  const setup = () => {
    const box = document.querySelector("[data-left]");
    if (box) { ends = performance.now() + 1000 * box.dataset.left; told = 0; clock(); }
    const every = document.querySelector("main").dataset.every;
    clearInterval(timer);
    if (every) timer = setInterval(look, 1000 * every);
    document.querySelectorAll("[data-copy]").forEach((one) => { one.hidden = false; });
  };
  const note = (text) => {
    const made = document.createElement("p");
    made.className = "note problem";
    made.setAttribute("role", "alert");
    made.textContent = text;
    return made;
  };
  const notes = (main, ...all) => {
    main.querySelectorAll(":scope > .note").forEach((one) => one.remove());
    main.querySelector("h1").before(...all);
  };
  const put = (html, sent) => {
    const reply = new DOMParser().parseFromString(html, "text/html");
    const found = reply.querySelector("main[data-at]"), main = document.querySelector("main");
    if (!found) { if (sent) notes(main, note(reply.body.textContent.trim().slice(0, 300))); return; } // a refusal: one line
    if (found.dataset.at === main.dataset.at) { // the same question: keep what was filled in
      const box = main.querySelector("[data-left]"), left = found.querySelector("[data-left]");
      if (box && left) { box.dataset.left = left.dataset.left; setup(); }
      const now = get("now"), next = found.querySelector("#now");
      if (now && next) { // figures alone: buttons, links and what is selected stay
        const held = now.contains(document.activeElement) && document.activeElement.id;
        const place = held ? document.activeElement.scrollLeft : 0;
        now.replaceWith(next);
        if (held && get(held)) { get(held).focus(); get(held).scrollLeft = place; }
      }
      if (sent) notes(main, ...found.querySelectorAll(":scope > .note"));
      return;
    }
    main.replaceWith(found);
    setup();
    const head = found.querySelector("h1"), did = found.querySelector("[data-focus]");
    if (head) document.title = head.textContent;
    if (did || head) (did || head).focus();
    if (!did) window.scrollTo(0, 0);
  };
  const look = async () => {
    if (sending) { missed = true; return; }
    try {
      const reply = await fetch(location.pathname, { headers: { "X-Part": "main" }, redirect: "follow" });
      if (reply.ok || document.querySelector("main[data-every]")) { put(await reply.text()); online(); }
    } catch { /* tried again by the watch below */ }
  };
  const online = () => { last = Date.now(); get("offline").classList.add("hidden"); };
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.dataset.plain !== undefined) return;
    event.preventDefault();
    if (sending) return;
    sending = true;
    const body = new URLSearchParams(new FormData(form, event.submitter));
    const buttons = document.querySelectorAll("main button");
    buttons.forEach((one) => { one.setAttribute("aria-disabled", "true"); });
    for (;;) {
      try {
        const reply = await fetch(form.action, { method: "POST", body, headers: { "X-Part": "main" } });
        if (reply.status < 500) { online(); put(await reply.text(), true); break; }
      } catch { /* offline: the answer is kept and sent again with the same place */ }
      get("offline").classList.remove("hidden");
      await wait(2000);
    }
    sending = false;
    if (missed) { missed = false; look(); }
    document.querySelectorAll("main button").forEach((one) => { one.removeAttribute("aria-disabled"); });
  });

  const listen = () => {
    if (stream) stream.close();
    if (!document.querySelector("main[data-live]")) return;
    stream = new EventSource("/events");
    stream.addEventListener("news", () => { last = Date.now(); look(); });
    stream.addEventListener("ping", () => { last = Date.now(); if (document.querySelector("main").dataset.at === "wait") look(); });
  };
  // An error reply closes an EventSource for good, and a silent one looks open: ask for the page, then listen anew.
  setInterval(() => {
    if (!document.querySelector("main[data-live]")) return;
    if (!stream || stream.readyState === 2 || Date.now() - last > 40000) { last = Date.now(); look().then(listen); }
  }, 3000);
  setInterval(clock, 250);
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const box = get(button.dataset.copy);
    box.select();
    try { await navigator.clipboard.writeText(box.value); } catch { document.execCommand("copy"); }
    const said = button.textContent;
    if (said !== button.dataset.did) { button.textContent = button.dataset.did; setTimeout(() => { button.textContent = said; }, 3000); }
  });
  addEventListener("pageshow", (event) => { if (event.persisted) look(); });
  addEventListener("online", look);
  setup();
  listen();
})();
