import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import type { Environment } from './env.decorator.js';
import { OperatorError } from './operator-error.js';
import { decodeText } from './text-file.js';

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
