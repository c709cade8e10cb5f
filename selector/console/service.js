// What the page asks the service, and the key it asks with. The key is kept for this tab and goes into a header only.

const KEY = "toolsurface.key";

export const heldKey = () => sessionStorage.getItem(KEY) ?? "";

export function holdKey(key) {
  if (key) sessionStorage.setItem(KEY, key);
  else sessionStorage.removeItem(KEY);
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

async function ask(path, { headers = {}, ...options } = {}) {
  const key = heldKey();
  let response;
  try {
    response = await fetch(path, {
      ...options,
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
  if (response.ok && content) return content;
  const detail = typeof content?.detail === "string" ? content.detail : `The answer was ${response.status}.`;
  throw new Failure(response.status, content?.code ?? "unknown", detail, response.headers.get("Retry-After"));
}
