"use strict";
// The pages of a static copy. All data comes from scripts beside this file (they call bundle(name, data)); everything
// that is shown goes through textContent, so nothing that a model wrote is ever markup.
const kept = new Map(), awaited = new Map();
function bundle(name, data) { kept.set(name, data); }
function load(file, name) {
  if (kept.has(name)) return Promise.resolve(kept.get(name));
  if (!awaited.has(name)) awaited.set(name, new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = file;
    script.onload = () => { script.remove(); resolve(kept.get(name)); awaited.delete(name); forget(); };
    script.onerror = () => { script.remove(); awaited.delete(name); reject(new Error(file + " cannot be read")); };
    document.head.append(script);
  }));
  return awaited.get(name);
}
function forget() { // keep memory flat: the oldest chunks are loaded again when they are needed
  const large = [...kept.keys()].filter((name) => /^(decisions|words)\d/.test(name));
  for (const name of large.slice(0, Math.max(0, large.length - 40))) kept.delete(name);
}
const chunkOf = (number) => load(`decisions/${number}.js`, `decisions${number}`).then(unpack);
const unpacked = new WeakSet();
function unpack(decisions) { // messages that repeat those before say only how many lines stay at the start and the end
  if (unpacked.has(decisions)) return decisions;
  const before = new Map();
  for (const [match, , , player, , calls] of decisions) for (const call of calls) {
    const key = match + "." + player, last = before.get(key) || [];
    call.messages = call.messages.map((message, i) => {
      if (message.length === 2) return message;
      const lines = last[i][1].split("\n"), [role, start, end, ...between] = message;
      return [role, [...lines.slice(0, start), ...between, ...(end ? lines.slice(-end) : [])].join("\n")];
    });
    before.set(key, call.messages);
  }
  unpacked.add(decisions);
  return decisions;
}
function fill(made, options) {
  for (const [name, value] of Object.entries(options || {})) if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
  return made;
}
function h(tag, options, ...children) {
  const made = fill(document.createElement(tag), options);
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}
const count = (number, one, many) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
const pretty = (text) => String(text).replaceAll("_", " ");
const levels = (run, cell, known = []) => Object.entries(run.cells[cell] || {}).filter(([, v]) => !known.includes(v)).map(([k, v]) => `${pretty(k)} ${pretty(v)}`).join(", ");
const paid = (sum) => Number.isInteger(sum) ? sum.toLocaleString("en") : Math.abs(sum) >= 0.1 ? sum.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 }) : String(Number(sum.toPrecision(2)));
function lanes(signs) { // one path for each kind of action, drawn as the server's pages draw them
  const paths = { c: "", d: "", o: "" };
  for (let at = 0, next = 0; at < signs.length; at = next) {
    const sign = signs[at], kind = sign === "C" ? "c" : sign === "D" ? "d" : "o";
    const top = kind === "c" ? 0 : kind === "d" ? 6 : /^[0-9]$/.test(sign) ? 9 - Number(sign) : /^[a-z]$/.test(sign) ? [3, 7, 5, 1, 8][(sign.charCodeAt(0) - 97) % 5] : 3;
    while (next < signs.length && signs[next] === sign) next++;
    if (sign === "·") continue;
    if (signs.length <= 60) for (let i = at; i < next; i++) paths[kind] += `M${i} ${top}h.9v${10 - top}h-.9z`;
    else paths[kind] += `M${at} ${top}h${next - at}v${10 - top}h-${next - at}z`;
  }
  return Object.entries(paths).filter(([, path]) => path);
}
function strip(text) {
  const signs = [...text], made = (tag) => document.createElementNS("http://www.w3.org/2000/svg", tag);
  const box = fill(made("svg"), { class: "lane", viewBox: `0 0 ${signs.length} 10`, preserveAspectRatio: "none", width: Math.min(signs.length * 9, 320), height: 14,
    role: "img", "aria-label": signs.length > 60 ? `${signs.length} rounds` : signs.join(" ") });
  box.append(...lanes(signs).map(([kind, path]) => fill(made("path"), { class: kind, d: path })));
  return box;
}
async function matchesPage(run, number, cell) { // of one cell where it is named
  const starts = await load("words/matches.js", "starts"), rows = [];
  const places = starts.map((_, at) => at).filter((at) => cell === undefined || String(starts[at][1]) === cell);
  const pages = Math.ceil(places.length / run.together), end = cell === undefined ? "" : `/${cell}`;
  for (const at of places.slice(number * run.together, (number + 1) * run.together)) {
    const file = Math.floor(at / run.together);
    rows.push((await load(`matches/${file}.js`, `matches${file}`))[at % run.together]);
  }
  const body = rows.map((row) => h("tr", {},
    h("th", { scope: "row" }, h("a", { class: "row", href: `#/match/${row.match}` }, String(row.match))),
    h("td", { class: "wrap", "data-label": "Cell" }, Object.entries(run.cells[row.cell] || {}).map(([k, v]) => [h("span", { class: "tag", title: pretty(k) }, pretty(v)), " "]).flat(), h("span", { class: "quiet" }, `seed ${row.seed}`)),
    h("td", { "data-label": "Actions" }, h("div", { class: "lanes" }, (row.strips || []).map((s, i) => h("span", {}, h("span", { class: "quiet" }, (row.agents || [])[i] ?? ""), s ? strip(s) : "")))),
    h("td", { class: row.cooperation === null ? "n nil" : "n", "data-label": "Cooperation" }, row.cooperation === null ? "–" : `${Math.round(100 * row.cooperation)} %`),
    h("td", { class: "n", "data-label": "Scores" }, (row.scores || []).map((s) => Number(s.toPrecision(4))).join(" / ")),
    h("td", { "data-label": "State" }, row.state, " ", row.reason ? h("span", { class: "quiet reason" }, row.reason) : "")));
  const heads = ["Match", "Cell", "Actions", "Cooperation", "Scores", "State"];
  return [h("div", { class: "head" }, h("h1", {}, "Matches"), h("p", { class: "quiet" }, `Page ${number + 1} of ${Math.max(1, pages)}`,
    cell === undefined ? "" : [` · ${levels(run, cell) || "the only cell"} · `, h("a", { href: "#/matches/0" }, "All matches")])),
    h("div", { class: "scroll sheet", tabindex: "0", role: "region", "aria-label": "Matches" }, h("table", { class: "matches stack" },
      h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col", class: /^(Coop|Sc)/.test(head) ? "n" : null }, head)))), h("tbody", {}, body))),
    h("p", { class: "steps" }, number > 0 ? h("a", { href: `#/matches/${number - 1}${end}` }, "← Previous") : "", " ",
      number + 1 < pages ? h("a", { href: `#/matches/${number + 1}${end}` }, "Next →") : "")];
}
async function rowOf(run, match) {
  const starts = await load("words/matches.js", "starts");
  const at = starts.findIndex(([number]) => number === match);
  if (at < 0) throw new Error(`match ${match} is not in this copy`);
  const page = await load(`matches/${Math.floor(at / run.together)}.js`, `matches${Math.floor(at / run.together)}`);
  return { row: page[at % run.together], before: at ? starts[at - 1][0] : null, after: at + 1 < starts.length ? starts[at + 1][0] : null };
}
async function matchPage(run, match, step, player) {
  const { row, before, after } = await rowOf(run, match);
  const decisions = [];
  for (let n = row.chunks[0]; n <= Math.min(row.chunks[1], run.chunks.length - 1); n++)
    for (const one of await chunkOf(n)) if (one[0] === match) decisions.push(one);
  const chosen = decisions.find((one) => one[1] === step && one[3] === player) || decisions.find((one) => one[5].length) || decisions[0];
  const table = new Map(), signs = new Map(), acts = new Map();
  for (const one of decisions) {
    if (one[4].action !== null) {
      const at = acts.get(one[3]) || 0, sign = [...((row.strips || [])[one[3] - 1] || "")][at];
      acts.set(one[3], at + 1);
      signs.set(one, sign === "C" ? "c" : sign === "D" ? "d" : "o");
    }
    if (!table.has(one[1])) table.set(one[1], new Map());
    const here = table.get(one[1]);
    if (!here.has(one[3]) || one[4].action !== null) here.set(one[3], one);
  }
  const players = (row.agents || []).map((_, i) => i + 1);
  const several = new Set(decisions.map((one) => one[4].stage ?? null).filter(Boolean)).size > 1;
  const body = [...table].map(([number, here]) => h("tr", {}, h("th", { scope: "row" }, String([...here.values()][0][2] ?? `step ${number}`)),
    players.map((who) => h("td", {}, here.has(who) ? h("a", { class: `move ${signs.get(here.get(who)) || "o"}`, href: `#/match/${match}/${number}/${who}`, "aria-current": chosen && chosen[1] === number && chosen[3] === who ? "true" : null },
      pretty(moveOf(here.get(who)[4], several)).slice(0, 40), here.get(who)[4].payoff === null ? "" : h("span", { class: "pay" }, paid(here.get(who)[4].payoff))) : ""))));
  const right = h("section", { class: "decision", "aria-label": "The chosen decision", tabindex: "0" });
  const earlier = decisions.filter((d) => chosen && d[3] === chosen[3] && d[1] < chosen[1] && d[5].length).pop();
  for (const one of decisions.filter((d) => chosen && d[1] === chosen[1] && d[3] === chosen[3])) right.append(...decision(one, row, signs.get(one), earlier ? earlier[5][0].messages : []));
  return [h("div", { class: "head" }, h("h1", {}, `Match ${match}`),
    h("p", { class: "quiet" }, [pretty(row.game), pretty(row.mechanism), `seed ${row.seed}`, levels(run, row.cell, [row.game, row.mechanism]), row.state + (row.reason ? `: ${row.reason}` : "")].filter(Boolean).join(" · ")),
    h("p", { class: "steps" }, before === null ? "" : h("a", { href: `#/match/${before}` }, `← match ${before}`), " ", after === null ? "" : h("a", { href: `#/match/${after}` }, `match ${after} →`))),
    h("div", { class: players.length > 2 ? "split many" : "split" }, h("section", { class: "rounds", "aria-label": "Rounds", tabindex: "0" }, h("table", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Round"), players.map((who) => h("th", { scope: "col" }, h("span", { class: "who" }, String(who)), ` ${row.agents[who - 1]}`)))),
      h("tbody", {}, body))), right)];
}
const moveOf = (told, several) => (several && told.stage ? `${told.stage} ` : "") + String(told.action ?? told.said ?? told.kind ?? "no answer");
function tried(call) { // as the server's pages say it
  const [, name, again, end] = /^(.*?)\.?try(\d+)(\.end)?$/.exec(call.part) || [null, call.part, "", ""];
  const asked = Number(again), words = [name.replaceAll("_", " "), asked > 1 ? `asked again ${asked} times` : asked ? "asked again" : "", end ? "forced end" : ""];
  return [...words, call.source === "cache" ? "from the cache" : !(asked || end) || call.try > 1 ? `try ${call.try}` : ""].filter(Boolean).join(", ");
}
function marked(old, text) { // what the last prompt did not have is marked, what it had is folded, line by line
  const before = old.split(/(?<=\n)/), lines = text.split(/(?<=\n)/), most = Math.min(before.length, lines.length);
  let head = 0, tail = 0;
  while (head < most && before[head] === lines[head]) head++;
  while (tail < most - head && before[before.length - 1 - tail] === lines[lines.length - 1 - tail]) tail++;
  const folded = head >= 7 ? head - 2 : 0, had = new Set(before), between = [];
  for (const line of lines.slice(head, lines.length - tail)) { // a window that slid has lines that were there before
    const last = between[between.length - 1], fresh = !had.has(line);
    if (last && last.fresh === fresh) last.text += line; else between.push({ fresh, text: line });
  }
  return [folded ? h("details", { class: "fold" }, h("summary", {}, `${folded} lines as in the last prompt`), h("span", {}, lines.slice(0, folded).join(""))) : "",
    lines.slice(folded, head).join(""), ...between.map(({ fresh, text }) => (fresh ? h("ins", {}, text) : text)), lines.slice(lines.length - tail).join("")];
}
function decision([, step, round, player, told, calls], row, sign, before) {
  const made = [h("h2", {}, `${round === null ? `Step ${step}` : `Round ${round}`}, player ${player} `, h("span", { class: "quiet" }, row.agents[player - 1]))];
  const act = told.kind === "act" && !told.stage, facts = [told.complaints ? `after ${count(told.complaints, "reply", "replies")} that could not be read` : ""].filter(Boolean);
  made.push(h("div", { class: `answer ${sign || "o"}` }, h("p", {}, act ? "chose" : h("span", { class: "quiet" }, pretty(told.stage ?? told.kind ?? "no answer")), " ", h("strong", {}, String(told.said ?? told.answer ?? "nothing")),
    told.label ? ` (shown as ${told.label})` : "", told.payoff === null ? "" : [", got ", h("b", {}, paid(told.payoff))]), facts.length ? h("p", { class: "quiet" }, facts.join(" · ")) : ""));
  if (calls.length && before.length) made.push(h("p", { class: "legend quiet" }, h("ins", {}, "new since the last prompt")));
  for (const call of calls) {
    const facts = [call.latency !== undefined ? `${call.latency.toFixed(2)} s` : "", call.tokens_in !== undefined ? `${call.tokens_in.toLocaleString("en")} tokens in` : "", call.tokens_out !== undefined ? `${call.tokens_out.toLocaleString("en")} out` : "", call.finish ? `finish ${call.finish}` : ""];
    made.push(h("h3", {}, `${call.model} `, h("span", { class: "quiet" }, tried(call))), h("ul", { class: "chips" }, facts.filter(Boolean).map((fact) => h("li", {}, fact))));
    if (call.reasoning !== undefined) made.push(said("reasoning", call.reasoning));
    if (call.reply !== undefined) made.push(said("reply", call.reply));
    call.messages.forEach(([role, content], i) => made.push(said(role, before[i] && before[i][0] === role ? marked(before[i][1], content) : content)));
    before = call.messages;
    if (call.error !== undefined) made.push(h("p", { class: "line problem" }, h("code", {}, call.error)));
  }
  return made;
}
const said = (role, text) => h("div", { class: `said ${/^(system|user|assistant|reply|reasoning)$/.test(role) ? role : "user"}` }, h("h4", {}, role),
  h("div", { class: "words", tabindex: "0", role: "group", "aria-label": role }, ...[text].flat()));

// -- search: words like those of the server's index: small letters without accents; every CJK character is a word
const UNSPACED = /([\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff])/g;
const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
const wordsOf = (text) => [...text.replace(UNSPACED, " $1 ").matchAll(/[\p{L}\p{N}]+/gu)].map((m) => plain(m[0]));
function termsOf(typed) {
  const terms = [];
  for (const [, minus, phrase, other, word] of typed.slice(0, 500).matchAll(/(-?)"([^"]*)"?|(-?)(\S+)/g)) {
    const words = wordsOf(word ?? phrase);
    if (words.length) terms.push({ words, prefix: (word || "").endsWith("*"), without: (minus || other) === "-" });
  }
  return terms.slice(0, 16);
}
async function callsOf(run, word, prefix) { // the calls that hold a word, and whether the list is complete
  const found = new Set();
  let whole = true;
  let shard = Math.max(0, run.shards.findLastIndex((first) => first <= word));
  for (; shard < run.shards.length && (run.shards[shard] <= word || (prefix && run.shards[shard].startsWith(word))); shard++) {
    const words = await load(`words/${shard}.js`, `words${shard}`);
    for (const name of prefix ? Object.keys(words).filter((w) => w.startsWith(word)) : Object.hasOwn(words, word) ? [word] : []) {
      let call = 0;
      const listed = words[name][1].split(",");
      for (const step of listed) { call += Number(step); found.add(call - 1); }
      whole &&= listed.length >= words[name][0];
    }
  }
  return { found, whole };
}
function fits(words, term) {
  const n = term.words.length;
  for (let i = 0; i + n <= words.length; i++)
    if (term.words.every((w, j) => (term.prefix && j === n - 1 ? words[i + j].startsWith(w) : words[i + j] === w))) return true;
  return false;
}
function excerpt(text, terms) {
  const low = text.toLowerCase();
  const first = terms.map((term) => low.indexOf(term.words[0])).filter((at) => at >= 0);
  const at = first.length ? Math.min(...first) : 0, start = Math.max(0, at - 90), part = text.slice(start, at + 160);
  const box = h("span", { class: "words" }, start ? "…" : "");
  let last = 0;
  for (const match of part.matchAll(/[\p{L}\p{N}]+/gu)) {
    const word = plain(match[0]);
    if (!terms.some((term) => term.words.some((w, i) => word === w || (term.prefix && i === term.words.length - 1 && word.startsWith(w))))) continue;
    box.append(part.slice(last, match.index), h("mark", {}, match[0]));
    last = match.index + match[0].length;
  }
  box.append(part.slice(last), start + part.length < text.length ? "…" : "");
  return box;
}
async function searchPage(run, typed, from) {
  const input = h("input", { type: "search", id: "q", value: typed, maxlength: "500", autocomplete: "off" });
  const form = h("form", { class: "filters", role: "search" }, h("label", { for: "q" }, "Words in prompts, replies and reasoning"), input, h("button", { class: "small" }, "Search"),
    h("p", { class: "quiet" }, "All words must occur in one call. \"two words\" is a phrase, word* a beginning, -word must not occur."));
  form.addEventListener("submit", (event) => { event.preventDefault(); location.hash = `#/search/0/${encodeURIComponent(input.value)}`; });
  const made = [h("div", { class: "head" }, h("h1", {}, "Search")), form];
  const terms = termsOf(typed), wanted = terms.filter((term) => !term.without), unwanted = terms.filter((term) => term.without);
  if (!wanted.length) return made;
  const lists = [];
  for (const term of wanted) for (const [i, word] of term.words.entries()) lists.push(await callsOf(run, word, term.prefix && i === term.words.length - 1));
  const whole = lists.filter((list) => list.whole), used = (whole.length ? whole : lists).sort((a, b) => a.found.size - b.found.size);
  const candidates = [...used[0].found].filter((call) => used.every((list) => list.found.has(call))).sort((a, b) => a - b);
  const starts = await load("words/matches.js", "starts");
  const matchOf = (call) => { let low = 0, high = starts.length - 1; while (low < high) { const mid = (low + high + 1) >> 1; if (starts[mid][2] <= call) low = mid; else high = mid - 1; } return starts[low]; };
  const exact = whole.length === lists.length && !unwanted.length && wanted.every((term) => term.words.length === 1);
  const byCell = new Map();
  for (const call of candidates) { const cell = matchOf(call)[1]; byCell.set(cell, (byCell.get(cell) || 0) + 1); }
  made.push(h("p", { class: "found", role: "status" }, exact ? count(candidates.length, "call has", "calls have") + " these words."
    : `${count(candidates.length, "call", "calls")} looked through at the most${whole.length ? "" : ": these words are in very many calls, the first 20,000 of each are listed"}.`));
  if (byCell.size > 1) made.push(h("div", { class: "scroll sheet", tabindex: "0", role: "region", "aria-label": "Calls by cell" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Cell"), h("th", { scope: "col" }, "Calls"))),
    h("tbody", {}, [...byCell].sort((a, b) => b[1] - a[1]).map(([cell, n]) => h("tr", {}, h("th", { scope: "row" }, levels(run, cell)), h("td", { class: "n" }, n.toLocaleString("en"))))))));
  const list = h("ol", { class: "hits" });
  let at = from;
  for (; at < candidates.length && list.children.length < 20; at++) {
    const call = candidates[at], chunk = run.chunks.findLastIndex((first) => first <= call);
    let number = run.chunks[chunk];
    search: for (const [match, step, , player, , calls] of await chunkOf(chunk)) for (const one of calls) if (number++ === call) {
      const texts = { reply: one.reply, reasoning: one.reasoning, prompt: one.messages.map((m) => m[1]).join("\n") };
      const all = Object.values(texts).filter(Boolean), words = all.map(wordsOf);
      const has = (term) => words.some((w) => fits(w, term));
      if (wanted.every(has) && !unwanted.some(has)) {
        const item = h("li", { class: "hit" }, h("a", { class: "row", href: `#/match/${match}/${step}/${player}` }, `Match ${match}, step ${step}, player ${player}`), " ", h("span", { class: "quiet" }, levels(run, matchOf(call)[1])));
        for (const [name, text] of Object.entries(texts)) if (text && wanted.some((term) => fits(wordsOf(text), term))) item.append(h("p", { class: "excerpt" }, h("span", { class: "tag" }, name), " ", excerpt(text, wanted)));
        list.append(item);
      }
      break search;
    }
  }
  made.push(list.children.length ? list : h("p", {}, "No call has these words."));
  if (at < candidates.length) made.push(h("p", {}, h("a", { class: "button", href: `#/search/${at}/${encodeURIComponent(typed)}` }, "Next hits")));
  return made;
}
let turn = 0;
async function show() {
  const mine = ++turn, [where, ...rest] = location.hash.replace(/^#\/?/, "").split("/");
  const overview = document.getElementById("overview"), page = document.getElementById("page");
  let made = [];
  try {
    const run = await load("run.js", "run");
    if (where === "matches") made = await matchesPage(run, Number(rest[0]) || 0, rest[1]);
    else if (where === "match") made = await matchPage(run, Number(rest[0]), rest[1] === undefined ? null : Number(rest[1]), Number(rest[2]));
    else if (where === "search") made = await searchPage(run, decodeURIComponent(rest.slice(1).join("/")), Number(rest[0]) || 0);
  } catch (error) { made = [h("p", { class: "line problem" }, h("code", {}, error.message))]; }
  if (mine !== turn) return;
  overview.hidden = made.length > 0;
  page.replaceChildren(...made);
  document.body.classList.toggle("fill", where === "match");
  for (const link of document.querySelectorAll(".tabs a")) link.toggleAttribute("aria-current", link.hash.split("/")[1] === where.replace(/^match$/, "matches"));
  document.body.dataset.shown = location.hash;
}
addEventListener("hashchange", show);
addEventListener("keydown", (event) => {
  if (event.target.matches("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") { event.preventDefault(); if (document.getElementById("q")) document.getElementById("q").focus(); else location.hash = "#/search"; }
  const moves = [...document.querySelectorAll("a.move")], at = moves.findIndex((a) => a.getAttribute("aria-current"));
  if (event.key === "j" && moves[at + 1]) moves[at + 1].click();
  if (event.key === "k" && moves[at - 1]) moves[at - 1].click();
});
show();
