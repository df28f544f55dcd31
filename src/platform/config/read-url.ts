/** Replaces `URL.canParse`: after ten thousand calls, the one in Node.js 20 refuses every Latin-1 text beyond ASCII. */
export function readUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
