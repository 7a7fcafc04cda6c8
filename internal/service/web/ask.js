// Asks the interface, which everybody may ask.
export const me = { who: null }; // project, scopes

// ask asks the interface about the project.
export async function ask(path, options = {}) {
  const headers = { "X-Requested-With": "corewalk", ...(options.headers || {}) };
  const r = await fetch(me.who ? `/api/v1/projects/${me.who.project}/${path}` : path, { ...options, headers });
  if (!r.ok) {
    let why = r.statusText;
    try { why = (await r.json()).error || why; } catch { /* not JSON */ }
    const e = new Error(why);
    e.status = r.status;
    throw e;
  }
  return (r.headers.get("Content-Type") || "").startsWith("application/json") ? r.json() : null;
}

export const may = (scope) => me.who && me.who.scopes.includes(scope);
