import { UsageError } from './errors.js';
import { formatSize, parseSize } from './sizes.js';

/** The `config.json` of a folder. Users may edit what comes after `keepsKey`. */
export interface Settings {
  /** Absolute, without symbolic links. */
  readonly folder: string;
  readonly service: string;
  readonly workspace: string;
  /** Shown to users, and part of the names of conflict copies. */
  readonly device: string;
  /** Whether the vault is known to have key slots. */
  readonly hasSlots: boolean;
  /** Whether the master key is stored beside this file; otherwise the password is asked for. */
  readonly keepsKey: boolean;
  /** Sync only these directories and files; undefined: everything. */
  readonly only?: readonly string[] | undefined;
  /** Size of the largest file that is synced: `100MB`. */
  readonly maxSize: string;
  /** Most bytes per second in each direction: `200kB`; undefined: unlimited. */
  readonly limitUp?: string | undefined;
  readonly limitDown?: string | undefined;
}

export const DEFAULT_MAX_SIZE = '100MB';

/** @param place path of the file, for the message @throws UsageError */
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

/** The selection in words. */
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
