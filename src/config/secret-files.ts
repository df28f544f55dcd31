import { readFileSync } from 'node:fs';
import type { Environment, EnvVariable } from './env.decorator.js';
import { decodeText } from './text-file.js';

/** What the name of a variable ends in that holds the path of a file instead of the secret itself. */
export const SUFFIX = '_FILE';

/**
 * A variable's text. A secret may stand in a file, whose path is in NAME_FILE: what the environment holds can be seen from
 * outside the process, and containers get secrets as files.
 * @throws Error, in words for the operator, when both are set or the file cannot be read
 */
export function textOf({ name, secret }: EnvVariable, environment: Environment): string | undefined {
  const text = environment[name]?.trim() || undefined;
  const path = secret ? environment[name + SUFFIX]?.trim() : undefined;
  if (!path) return text;
  if (text !== undefined) throw new Error(`${name} and ${name}${SUFFIX} are both set: set one of them`);
  return contentOf(path, name);
}

function contentOf(path: string, name: string): string {
  const content = decoded(readBytes(path, name), name).trim();
  if (content === '') throw new Error(`the file in ${name}${SUFFIX} is empty`);
  return content;
}

function readBytes(path: string, name: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new Error(`the file in ${name}${SUFFIX} cannot be read (${code})`, { cause: error });
  }
}

function decoded(bytes: Buffer, name: string): string {
  try {
    return decodeText(bytes);
  } catch (error) {
    throw new Error(`the file in ${name}${SUFFIX} ${(error as Error).message}`, { cause: error });
  }
}
