// Pictures.
// spark draws how many dumps came on each day.
export function spark(trend) {
  const ns = "http://www.w3.org/2000/svg", most = Math.max(1, ...trend);
  const svg = document.createElementNS(ns, "svg");
  svg.setAttribute("class", "spark");
  svg.setAttribute("viewBox", `0 0 ${trend.length * 3} 20`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `dumps a day, ${trend.length} days: ${trend.join(", ")}`);
  trend.forEach((n, i) => {
    if (!n) return;
    const r = document.createElementNS(ns, "rect"), tall = Math.max(2, 20 * n / most);
    for (const [k, v] of Object.entries({ x: 3 * i, y: 20 - tall, width: 2, height: tall })) r.setAttribute(k, v);
    svg.append(r);
  });
  return svg;
}
