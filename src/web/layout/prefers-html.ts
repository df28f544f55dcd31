/** Whether the client explicitly accepts HTML, at least as much as other formats, as browsers do when they open an address. */
export function prefersHtml(accept = '', other = 'application/json'): boolean {
  const html = weightOf(accept, 'text/html');
  return html > 0 && html >= weightOf(accept, other);
}

/** The weight of a media type in `Accept`, 0 to 1; 0 when it is not listed. */
function weightOf(accept: string, type: string): number {
  const range = accept.split(',').find((one) => one.split(';', 1)[0]?.trim().toLowerCase() === type);
  if (range === undefined) return 0;
  const weight = Number(/;\s*q=([\d.]+)/i.exec(range)?.[1] ?? 1);
  return Number.isNaN(weight) ? 0 : weight;
}
