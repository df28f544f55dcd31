import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import type { Environment } from './env.decorator.js';
import { OperatorError } from './operator-error.js';

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

const NAME = /^[A-Za-z_][\w.-]*$/;
const WITHOUT_VALUE = /^\s*(?:export\s+)?(\w+)\s*(?:[^\w\s=]|\s\w|$)/;

/**
 * The variables in a `.env` file; none when there is no such file. A line that cannot be understood is refused and never
 * skipped: `SIGNUP_ENABLED=false` that is lost in silence opens the service to everybody.
 * @param known names that are looked for in lines that set nothing
 * @throws OperatorError when it cannot be read, is not UTF-8 or has such a line
 */
export function envFile(path: string, known: ReadonlySet<string>): Environment {
  const text = textOf(path);
  if (text === undefined) return {};
  const variables = parseEnv(text);
  const lines = text.split('\n');
  const odd = Object.keys(variables).find((name) => !NAME.test(name));
  const [start = ''] = odd?.split('\n') ?? [];
  const at = lines.findIndex((line) =>
    odd === undefined ? known.has(WITHOUT_VALUE.exec(line)?.[1] ?? '') : line.includes(start),
  );
  if (at === -1) return variables;
  throw new OperatorError(`Line ${at + 1} of ${path} is no NAME=value; mend it.`); // not told: it may be a secret
}

function textOf(path: string): string | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new OperatorError(`${path} cannot be read (${code}); mend or remove it.`, { cause: error });
  }
  try {
    return decodeText(bytes);
  } catch (error) {
    throw new OperatorError(`${path} ${(error as Error).message}.`, { cause: error });
  }
}
