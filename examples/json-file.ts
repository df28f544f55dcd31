import { readText } from '../client/src/cli/text-file.js';
import { replacePrivate } from '../client/src/folder/index.js';

/** Replaces the file atomically and durably. Readable by its owner only. */
export const saveJson = (file: string, value: unknown): Promise<void> =>
  replacePrivate(file, JSON.stringify(value));

/** Returns undefined when the file does not exist. */
export async function loadJson<T>(file: string): Promise<T | undefined> {
  try {
    const text = await readText(file);
    return text === undefined ? undefined : (JSON.parse(text) as T);
  } catch (error) {
    throw new Error(`${file} cannot be read`, { cause: error });
  }
}
