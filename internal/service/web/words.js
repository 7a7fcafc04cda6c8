// How times, sizes and other values are said.
export const minute = (t) => t && !t.startsWith("0001") ? t.slice(0, 16).replace("T", " ") : "";
export const day = (t) => minute(t).slice(0, 10);
export const short = (s, n) => s && s.length > n ? s.slice(0, n - 1) + "\u2026" : s || "";
export const plural = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
// percent shows a share.
export const percent = (x) => `${Math.round(100 * x)} %`;

export function size(n) {
  for (const unit of ["bytes", "KiB", "MiB", "GiB"]) {
    if (n < 1024 || unit === "GiB") return `${n < 10 && unit !== "bytes" ? n.toFixed(1) : Math.round(n)} ${unit}`;
    n /= 1024;
  }
}
