// What this replica serves and refuses, as elements.

import { code, counted, element, pairs } from "./elements.js";

export function served(applications, unreadable = {}) {
  const keys = Object.keys(applications);
  const faults = Object.entries(unreadable).map(([application, detail]) =>
    element("p", { class: "notice bad" }, element("strong", {}, application ? `Store: ${application}` : "Store"), detail));
  if (!keys.length) return [...faults, element("p", { class: "quiet" }, "Nothing that this key may see is served here. Deploy an application to the store.")];
  return [...faults, ...keys.map((key) => application(key, applications[key]))];
}

function application(key, report) {
  return element("section", { class: "application" },
    element("h3", {}, key),
    pairs([["Release", code(report.release)]]),
    report.refused_release && refusal("Refused release", report.refused_release, "an earlier release stays in force"),
    ...Object.entries(report.surfaces).map(([name, version]) => surface(name, version)),
    ...Object.entries(report.refused).map(([name, no]) => refusal(`Refused: ${name}`, no.code, no.detail)));
}

function surface(name, report) {
  const entries = [["Version", code(report.version)], ["Catalog", code(report.catalog_digest)], ["Model", code(report.model)]];
  if (report.replaced) entries.push(["Before", code(report.replaced.version)]);
  return element("div", { class: "surface" },
    element("h4", {}, element("span", {}, name), element("span", { class: "quiet" }, counted(report.tools, "tool"))),
    pairs(entries));
}

const refusal = (title, reason, detail) =>
  element("p", { class: "notice bad" }, element("strong", {}, title), code(reason), ` ${detail}`);

// By the code of readiness.
const NOT_READY = {
  loading: "Not ready: loading its indexes",
  store_unavailable: "Not ready: its store cannot be reached",
  leaving: "Not ready: this replica is about to end",
  no_index: "Not ready: no index is served",
};

// What stands in the header: a state and a sentence.
export function health(report) {
  const all = Object.values(report.applications ?? {});
  const refused = all.reduce((sum, each) => sum + Object.keys(each.refused).length + (each.refused_release ? 1 : 0), 0);
  const unreadable = Object.keys(report.unreadable ?? {}).length;
  const surfaces = all.reduce((sum, each) => sum + Object.keys(each.surfaces).length, 0);
  if (report.status !== "ready") return ["down", NOT_READY[report.code] ?? "Not ready"];
  if (unreadable) return ["degraded", "Serving; the store cannot be read"];
  if (refused) return ["degraded", `Serving; ${counted(refused, "index", "indexes")} refused`];
  return ["ready", report.applications ? `Ready; ${counted(surfaces, "surface")}` : "Ready"];
}
