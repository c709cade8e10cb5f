// One explanation as elements: the ranking, why each tool stands where it does, and what was left out.

import { code, counted, element, number } from "./elements.js";

export function summary(answer, { application, surface }, milliseconds) {
  const took = `in ${Math.max(1, Math.round(milliseconds))} ms`;
  const where = `${application} / ${surface}`;
  if (answer.abstained) return `No tool of ${where} fits this query, answered ${took}.`;
  return `${counted(answer.ranked.length, "tool")} of ${where} ${took}, best first.`;
}

export function ranking(answer) {
  const all = [...answer.ranked, ...answer.left_out];
  const most = {
    words: Math.max(...all.map((tool) => tool.lexical), 1e-9) * answer.weights.lexical_weight,
    meaning: Math.max(...all.map((tool) => meaning(tool, answer.weights) ?? 0), 1e-9),
    fused: Math.max(...all.filter((tool) => !tool.called).map((tool) => tool.score), 1e-9),
  };
  return [
    answer.degraded && degraded(answer.degraded),
    answer.abstained && abstained(answer),
    answer.clauses.length > 0 && clauses(answer.clauses),
    answer.unknown_words.length > 0 && unknown(answer.unknown_words),
    answer.ranked.length > 0 && list(answer.ranked, answer, most),
    answer.left_out.length > 0 && leftOut(answer, most),
    facts(answer),
  ].filter(Boolean);
}

const list = (tools, answer, most, from = 1) =>
  element("ol", { class: "tools", start: from }, ...tools.map((tool, at) => item(tool, from + at, answer, most)));

function item(tool, place, answer, most) {
  return element("li", { class: "tool" },
    element("span", { class: "place", "aria-hidden": "true" }, String(place)),
    element("div", {},
      element("div", { class: "head" },
        element("span", { class: "name" }, tool.name),
        element("span", { class: "score" }, element("span", { class: "quiet" }, "score "), number(tool.score))),
      legs(tool, answer, most),
      reasons(tool, place <= answer.ranked.length)));
}

function legs(tool, { weights, clauses }, most) {
  const words = weights.lexical_weight * tool.lexical;
  const near = meaning(tool, weights);
  const rows = [leg("Words", "words", words / most.words, number(words))];
  if (near !== null) {
    const cosine = `${tool.cosine_at_most ? "at most " : ""}${number(tool.cosine, 3)}`;
    rows.push(leg("Meaning", "meaning", near / most.meaning, `${number(near)} · cosine ${cosine}`));
    const best = tool.nearest_clause && clauses.length ? ` + ${number(weights.clause_weight * tool.nearest_clause.score)} clause` : "";
    rows.push(leg("Fused", "fused", tool.score / most.fused, `${number(tool.whole)}${best}`));
  }
  return element("dl", { class: "legs" }, ...rows.flat());
}

const leg = (name, kind, share, value) => [
  element("dt", {}, name),
  element("dd", { class: "track", "aria-hidden": "true" }, element("span", { class: kind, share })),
  element("dd", { class: "value" }, value),
];

const meaning = (tool, { trust, mean, spread }) => (tool.cosine === null ? null : (trust * (tool.cosine - mean)) / spread);

function reasons(tool, found) {
  const chips = tool.words.map((match) =>
    element("li", { class: match.in_name ? "chip in-name" : "chip" },
      element("b", {}, match.word),
      element("span", { class: "quiet" }, ` ${match.in_name ? "in name" : "in text"} ${number(match.points, 1)}`)));
  if (tool.called) chips.unshift(element("li", { class: "chip called" }, "called by its name"));
  if (tool.nearest_clause) {
    chips.push(element("li", { class: "chip clause" }, element("span", { class: "quiet" }, "nearest to "), `\u201c${tool.nearest_clause.clause}\u201d`));
  }
  if (!chips.length) chips.push(element("li", { class: "chip" }, found ? "no shared word: found by meaning alone" : "no shared word"));
  return element("ul", { class: "why", "aria-label": "Why it matched" }, ...chips);
}

function abstained({ threshold }) {
  const notice = element("div", { class: "notice warn" }, element("strong", {}, "The ranking abstained: nothing here fits."));
  if (!threshold || !threshold.applies || threshold.nearest >= threshold.needed) {
    notice.append("The query shares nothing with any tool of this surface.");
    return notice;
  }
  const end = threshold.needed * 1.5;
  notice.append(
    element("div", { class: "scale", "aria-hidden": "true" },
      element("span", { class: "reached", share: threshold.nearest / end }),
      element("span", { class: "needed", share: threshold.needed / end })),
    `The catalog comes as near as ${number(threshold.nearest, 3)}; ${number(threshold.needed, 3)} is needed, `
      + `${number(threshold.needed - threshold.nearest, 3)} more. What it would have answered stands below.`);
  return notice;
}

function leftOut(answer, most) {
  const title = answer.abstained ? "What it would have answered" : "Left out";
  return element("details", { open: answer.abstained },
    element("summary", {}, `${title} (${answer.left_out.length})`),
    list(answer.left_out, answer, most, answer.ranked.length + 1));
}

const degraded = (reason) =>
  element("p", { class: "notice bad" }, element("strong", {}, "Degraded"), `The words answered alone: ${reason}.`);

const clauses = (found) =>
  element("div", { class: "notice" }, element("strong", {}, `Read as ${counted(found.length, "request")}`), found.map((clause) => `\u201c${clause}\u201d`).join(" · "));

const unknown = (words) =>
  element("p", { class: "facts" }, "In no tool here (compared without plural endings): ", words.join(", "));

const facts = (answer) =>
  element("p", { class: "facts" }, "Version ", code(answer.index_version), " of catalog ", code(answer.catalog_digest),
    ` · model trusted ${Math.round(100 * answer.weights.trust)} %`);
