import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { Configuration } from './configuration.js';
import { OperatorError } from './operator-error.js';
import { type Environment, envVariables } from './validators.js';

/** Byte order mark, which editors use to mark the encoding of a text file. */
const BYTE_ORDER_MARK = '\uFEFF';

/**
 * Decodes a file that may come from any editor, and drops a byte order mark.
 * @throws Error that begins with `file` when it is not UTF-8; usually UTF-16 from a Windows editor
 */
export function decodeText(bytes: Uint8Array, file: string): string {
  const text = decodeUtf8(bytes);
  // UTF-16 without a byte order mark: every other byte of ASCII text is zero, which is valid UTF-8 but never occurs in text.
  if (text === undefined || text.includes('\0'))
    throw new Error(`${file} is not UTF-8 text; save it as UTF-8`);
  return text;
}

/** Whether another program has left a byte order mark in a variable's name. */
export function hasByteOrderMark(name: string): boolean {
  return name.startsWith(BYTE_ORDER_MARK);
}

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes); // also drops the byte order mark
  } catch {
    return undefined;
  }
}

const NAME = /^[A-Za-z_][\w.-]*$/;
const WITHOUT_VALUE = /^\s*(?:export\s+)?(\w+)\s*(?:[^\w\s=]|\s\w|$)/;

/**
 * The variables in a `.env` file; empty when there is no file. A line that cannot be parsed is an error and is never skipped:
 * silently losing `SIGNUP_ENABLED=false` would open the service to everyone.
 * @param known names to look for in lines that set nothing
 * @throws OperatorError when the file cannot be read, is not UTF-8 or has such a line
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
  throw new OperatorError(`Line ${at + 1} of ${path} is not NAME=value; fix it.`); // never show the line: it may be a secret
}

function textOf(path: string): string | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new OperatorError(`${path} cannot be read (${code}); fix or remove it.`, { cause: error });
  }
  try {
    return decodeText(bytes, path);
  } catch (error) {
    throw new OperatorError(`${(error as Error).message}.`, { cause: error });
  }
}

/** The text of `.env.example`: every variable with its meaning and default. A test checks that the file matches. */
export function envExample(): string {
  const head =
    '# Every variable is optional in development. Copy to .env and uncomment what you change.\n' +
    '# A secret can be read from a file: NAME_FILE=/path instead of NAME=…\n';
  const entries = envVariables(Configuration).map(
    ({ name, meaning, default: value, secret }) =>
      `# ${meaning}${secret ? ' (secret)' : ''}\n#${name}=${value ?? ''}\n`,
  );
  return [head, ...entries].join('\n');
}
