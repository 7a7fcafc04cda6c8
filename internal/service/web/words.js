// How times, sizes and other values are said.

// exact is a time to the second, in UTC, as everywhere in the service.
export const exact = (t) => known(t) ? t.slice(0, 19).replace("T", " ") + " UTC" : "";
export const known = (t) => Boolean(t) && !t.startsWith("0001");
export const short = (s, n) => s && s.length > n ? s.slice(0, n - 1) + "\u2026" : s || "";
export const plural = (n, what) => `${n.toLocaleString("en")} ${what}${n === 1 ? "" : "s"}`;
export const base = (path) => (path || "").split(/[/\\]/).pop();
// percent shows a share.
export const percent = (x) => `${Math.round(100 * x)} %`;

const units = [["year", 31557600], ["month", 2629800], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];

// ago says how long ago a time was. What a client's clock has after now is now.
export function ago(t, now = Date.now()) {
  const seconds = (now - Date.parse(t)) / 1000;
  const unit = units.find(([, n]) => seconds >= n);
  return unit ? `${plural(Math.floor(seconds / unit[1]), unit[0])} ago` : "just now";
}

export function size(n) {
  for (const unit of ["bytes", "KiB", "MiB", "GiB"]) {
    if (n < 1024 || unit === "GiB") return `${n < 10 && unit !== "bytes" ? n.toFixed(1) : Math.round(n)} ${unit}`;
    n /= 1024;
  }
}
