/** Not `URL.canParse`: in Node.js 20 it refuses every text of Latin-1 beyond ASCII once it has been called ten thousand times. */
export function readUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
