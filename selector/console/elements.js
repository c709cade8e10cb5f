// Makes elements. Text is only ever set as text: a tool's name is somebody else's and may hold markup.

export function element(tag, { share, ...attributes } = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  if (share !== undefined) made.style.setProperty("--share", String(Math.min(1, Math.max(0, share))));
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const pairs = (entries) =>
  element("dl", { class: "pairs" }, ...entries.flatMap(([term, value]) => [element("dt", {}, term), element("dd", {}, value)]));

// Cut where it is too long for its place; pointing at it, or copying it, gives all of it.
export const code = (text) => element("code", { title: text }, text);

export const number = (value, digits = 2) => value.toFixed(digits).replace("-", "\u2212");

export const counted = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
