/** Byte order marks, with which editors mark the encoding of a text file. */
const BYTE_ORDER_MARK = '\uFEFF';

/**
 * The text of a file that a person may have edited with any editor, without a byte order mark.
 * @throws Error, to be completed by the file's name, when it is not UTF-8: UTF-16 above all, which some editors of Windows write
 */
export function decodeText(bytes: Uint8Array): string {
  const text = decodeUtf8(bytes);
  // UTF-16 without a mark: every other byte of ASCII is zero, which UTF-8 allows and no text has.
  if (text === undefined || text.includes('\0')) throw new Error('is not UTF-8 text; save it as UTF-8');
  return text;
}

/** Whether a byte order mark has become part of a variable's name, on the way through another program. */
export function hasByteOrderMark(name: string): boolean {
  return name.startsWith(BYTE_ORDER_MARK);
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes); // which drops the mark
  } catch {
    return undefined;
  }
}
