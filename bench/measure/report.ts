import type { Result } from './beside.js';
import type { Figures } from './figures.js';

/** One line per contestant: its figures, and the service's figures relative to them. */
export function table(results: readonly Result[]): string {
  const lines = [['case', 'load', 'who', 'figures', 'service / it']];
  for (const { case: name, load, figures, ratios, note } of results) {
    Object.entries(figures).forEach(([who, its], index) => {
      const first = index === 0 ? [name, String(load)] : ['', ''];
      lines.push([...first, who, inWords(its), inWords(ratios[who] ?? {})]);
    });
    if (note !== undefined) lines.push(['', '', '', note, '']);
  }
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => line[column]?.length ?? 0)),
  );
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const inWords = (figures: Figures): string =>
  Object.entries(figures)
    .map(([name, value]) => `${name} ${value}`)
    .join('  ');
