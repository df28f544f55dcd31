import { isUtf8 } from 'node:buffer';
import { BadRequest } from './errors.js';

/**
 * The text of a request body. A decoder would replace each byte that is not UTF-8 by the same character, and different
 * texts, passwords among them, would become one. @throws BadRequest
 */
export function utf8Of(body: Buffer): string {
  if (!isUtf8(body)) throw new BadRequest('the request body is not UTF-8');
  return body.toString('utf8');
}

const ENCODED_BYTE = /%([0-9a-f]{2})/gi;

/** Whether a query, or a form, is UTF-8 once its percent-encoding is decoded. A lone `%` stands for itself. */
export function isEncodedUtf8(text: string): boolean {
  if (!text.includes('%')) return true;
  const characterPerByte = Buffer.from(text, 'utf8').toString('latin1');
  const decoded = characterPerByte.replace(ENCODED_BYTE, (_, byte: string) =>
    String.fromCharCode(parseInt(byte, 16)),
  );
  return isUtf8(Buffer.from(decoded, 'latin1'));
}
