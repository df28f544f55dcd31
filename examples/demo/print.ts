const LABEL_WIDTH = 10;
const REDRAW_MS = 100;

let drawnAt = Date.now();
let isProgressShown = false;

/** Prints one line of the demo. */
export function say(label: string, text: string): void {
  clearProgress();
  drawnAt = Date.now();
  console.log(line(label, text));
}

/** On a terminal, redraws a single line at a readable rate; otherwise prints nothing. */
export function showProgress(label: string, text: string): void {
  if (!process.stdout.isTTY || Date.now() - drawnAt < REDRAW_MS) return;
  clearProgress();
  drawnAt = Date.now();
  isProgressShown = true;
  process.stdout.write(line(label, text).slice(0, (process.stdout.columns || 80) - 1));
}

export function clearProgress(): void {
  if (isProgressShown) process.stdout.write('\r\u001b[2K');
  isProgressShown = false;
}

function line(label: string, text: string): string {
  return `  ${label.padEnd(LABEL_WIDTH)} ${printable(text)}`;
}

/** Replaces control characters: file names and answers of the service may contain terminal escape sequences. */
export const printable = (text: string): string => text.replaceAll(/\p{Cc}/gu, '\ufffd');

/** Prints the first few of many lines. */
export function sayFew(label: string, texts: string[], limit = 5): void {
  for (const text of texts.slice(0, limit)) say(label, text);
  if (texts.length > limit) say(label, `… and ${texts.length - limit} more`);
}

/** Formats an error's message and its causes on one line. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const errors = error instanceof AggregateError ? (error.errors as unknown[]) : [error.cause];
  const causes = errors.filter((cause) => cause !== undefined).map(explain);
  return [error.message, ...causes].filter((message) => message !== '').join(': ');
}
