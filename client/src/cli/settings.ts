import { UsageError } from './errors.js';
import { formatSize, parseSize } from './sizes.js';

/** What is written down of a folder in `config.json`. People may edit what comes after `keepsKey`. */
export interface Settings {
  /** Absolute, without symbolic links. */
  readonly folder: string;
  readonly service: string;
  readonly workspace: string;
  /** Shown to people, and part of the names of conflict copies. */
  readonly device: string;
  /** Whether the vault is known to have key slots. */
  readonly hasSlots: boolean;
  /** Whether the master key is kept beside this file; else it is asked for. */
  readonly keepsKey: boolean;
  /** Only these directories and files are synced; undefined: everything. */
  readonly only?: readonly string[] | undefined;
  /** The longest file that is synced: `100MB`. */
  readonly maxSize: string;
  /** The most bytes in a second, in each direction: `200kB`; undefined: as fast as the link. */
  readonly limitUp?: string | undefined;
  readonly limitDown?: string | undefined;
}

export const DEFAULT_MAX_SIZE = '100MB';

/** @param place of the file, for the message @throws UsageError */
export function parseSettings(text: string, place: string): Settings {
  const wrong = (what: string): UsageError => new UsageError(`${place}: ${what}`);
  const found = parsed(text);
  if (!found) throw wrong('not a JSON object');
  const textAt = (name: string): string => {
    const value = found[name];
    if (typeof value !== 'string' || value === '') throw wrong(`${name} must be text`);
    return value;
  };
  const flagAt = (name: string): boolean => {
    const value = found[name];
    if (typeof value !== 'boolean') throw wrong(`${name} must be true or false`);
    return value;
  };
  const { only } = found;
  if (only !== undefined && !(Array.isArray(only) && only.every((path) => typeof path === 'string')))
    throw wrong('only must be a list of paths');
  const sizeAt = (name: string): string | undefined => {
    if (found[name] === undefined) return undefined;
    parseSize(textAt(name));
    return textAt(name);
  };
  return {
    ...{ folder: textAt('folder'), service: textAt('service'), workspace: textAt('workspace') },
    ...{ device: textAt('device'), hasSlots: flagAt('hasSlots'), keepsKey: flagAt('keepsKey') },
    ...(only === undefined ? {} : { only }),
    ...{ maxSize: sizeAt('maxSize') ?? DEFAULT_MAX_SIZE },
    ...{ limitUp: sizeAt('limitUp'), limitDown: sizeAt('limitDown') },
  };
}

export const settingsText = (settings: Settings): string => `${JSON.stringify(settings, undefined, 2)}\n`;

/** The limits in words. */
export function describeSelection({ only, maxSize }: Settings): string {
  const files = only === undefined ? 'everything' : only.join(', ');
  return `${files}, files up to ${formatSize(parseSize(maxSize))}`;
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
