// What the page asks the service, and the key it asks with. The key is in this page's memory and in a header, nowhere else.

let key = "";
let asker = new AbortController();

export const heldKey = () => key;

// What is asked with another key is given up: its answer is for whoever held that one.
export function holdKey(next) {
  asker.abort();
  asker = new AbortController();
  key = next;
}

// A failure that can be shown: `code` is the problem document's, or "unreachable".
export class Failure extends Error {
  constructor(status, code, detail, retryAfter) {
    super(detail);
    Object.assign(this, { status, code, retryAfter });
  }
}

export const applications = (signal) => ask("v1/applications", { signal });

export const readiness = (signal) => ask("health/ready", { signal });

export function explain({ application, surface, query, limit }, signal) {
  const path = `v1/applications/${segment(application)}/surfaces/${segment(surface)}/explain`;
  const body = JSON.stringify({ version: 1, query, limit });
  return ask(path, { method: "POST", body, headers: { "Content-Type": "application/json" }, signal });
}

// A key of dots alone would otherwise walk up.
const segment = (key) => encodeURIComponent(key).replace(/^\.+$/, (dots) => dots.replaceAll(".", "%2E"));

async function ask(path, { headers = {}, signal: givenUp, ...options } = {}) {
  const signal = AbortSignal.any([asker.signal, givenUp]);
  let response;
  try {
    response = await fetch(path, {
      ...options,
      signal,
      headers: { Accept: "application/json", ...headers, ...(key && { Authorization: `Bearer ${key}` }) },
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(0, "unreachable", "The service cannot be reached. Is it running, and are you online?");
  }
  const content = await response.json().catch(() => null);
  signal.throwIfAborted();
  if (response.ok && content) return content;
  const detail = typeof content?.detail === "string" ? content.detail : `The answer was ${response.status}.`;
  throw new Failure(response.status, content?.code ?? "unknown", detail, response.headers.get("Retry-After"));
}
