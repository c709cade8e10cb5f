// Joins the page: forms, the key, and what the service answers.

import { element } from "./elements.js";
import { ranking, summary } from "./ranking.js";
import { health, served } from "./served.js";
import { applications, explain, Failure, heldKey, holdKey, readiness } from "./service.js";

const REFRESH = 10_000;
const $ = (id) => document.getElementById(id);
let shown = {};
let asking = new AbortController();
let looking = new AbortController();

function showHealth([state, text]) {
  $("health").dataset.state = state;
  if ($("health-text").textContent !== text) $("health-text").textContent = text;
}

function fill(select, names) {
  const before = select.value;
  if (names.length === select.options.length && names.every((name, at) => select.options[at].value === name)) return;
  select.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  if (names.includes(before)) select.value = before;
}

function fillSurfaces() {
  fill($("surface"), Object.keys(shown[$("application").value]?.surfaces ?? {}));
}

// Of several looks, and of several rankings, the last one that was asked for is shown.
async function look({ typed = false } = {}) {
  looking.abort();
  looking = new AbortController();
  const { signal } = looking;
  let ready;
  try {
    ready = await readiness(signal);
  } catch (failure) {
    if (failure.name === "AbortError") return false;
    if (!(failure instanceof Failure)) throw failure;
    ready = failure.status === 503 ? { status: "not ready", code: failure.code } : null;
    showHealth(ready ? health(ready) : ["down", "The service cannot be reached"]);
  }
  if (ready?.status === "ready") showHealth(health(ready));
  try {
    shown = (await applications(signal)).applications;
  } catch (failure) {
    if (failure.name === "AbortError") return false;
    if (!(failure instanceof Failure)) throw failure;
    if (failure.status === 401) askForKey(typed ? "This key is not valid here." : heldKey() ? "The key is not valid any more." : "");
    else $("served").replaceChildren(problem(failure));
    return false;
  }
  $("key-error").textContent = "";
  $("access").hidden = !heldKey();
  $("key-form").hidden = true;
  $("held").hidden = !heldKey();
  fill($("application"), Object.keys(shown));
  fillSurfaces();
  $("served").replaceChildren(...served(shown, ready?.unreadable));
  return true;
}

function askForKey(why) {
  holdKey("");
  shown = {};
  fill($("application"), []);
  fill($("surface"), []);
  $("access").hidden = false;
  $("key-form").hidden = false;
  $("held").hidden = true;
  $("key-error").textContent = why;
  $("served").replaceChildren(element("p", { class: "quiet" }, "Needs a key."));
}

function problem(failure) {
  const again = failure.retryAfter ? ` Ask again in ${failure.retryAfter} s.` : "";
  return element("p", { class: "notice bad" }, element("strong", {}, failure.code), `${failure.message}${again}`);
}

async function rank() {
  asking.abort();
  const mine = (asking = new AbortController());
  const started = performance.now();
  busy(true);
  $("said").textContent = "Ranking\u2026";
  try {
    const asked = {
      application: $("application").value,
      surface: $("surface").value,
      query: $("query").value,
      limit: Number($("limit").value),
    };
    const answer = await explain(asked, mine.signal);
    $("answer").replaceChildren(...ranking(answer));
    $("said").textContent = summary(answer, asked, performance.now() - started);
  } catch (failure) {
    if (failure.name === "AbortError") return;
    if (!(failure instanceof Failure)) throw failure;
    $("answer").replaceChildren(problem(failure));
    $("said").textContent = "No ranking.";
    if (failure.status === 401) {
      askForKey("The key is not valid here.");
      $("key").focus();
    }
  } finally {
    if (asking === mine) busy(false);
  }
}

function busy(now) {
  $("answer").setAttribute("aria-busy", String(now));
  $("rank").textContent = now ? "Ranking\u2026" : "Rank";
}

$("application").addEventListener("change", fillSurfaces);
$("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  rank();
});
$("query").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    $("ask").requestSubmit();
  }
});
$("key-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  holdKey($("key").value.trim());
  $("key").value = "";
  if (await look({ typed: true })) $("query").focus();
});
$("forget").addEventListener("click", () => {
  askForKey("");
  showHealth(["unknown", "Asking the service\u2026"]);
  $("answer").replaceChildren();
  $("said").textContent = "Nothing asked yet.";
  $("key").focus();
  look();
});
$("refresh").addEventListener("click", () => look());

look();
setInterval(() => document.hidden || (!$("access").hidden && !heldKey()) || look(), REFRESH);
