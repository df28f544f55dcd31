import type { Command } from 'commander';
import type { Bandwidth } from '../core/index.js';
import type { Settings } from './settings.js';
import { parseSize } from './sizes.js';

/** Options of the command line that choose which files are synced, and how fast. */
export interface SelectionOptions {
  readonly only?: readonly string[];
  readonly maxSize?: string;
  /** Per second, such as `200kB`. */
  readonly limitUp?: string;
  readonly limitDown?: string;
}

export function withSelection(command: Command): Command {
  return command
    .option('--only <paths...>', 'sync only these directories and files of the folder')
    .option('--max-size <size>', 'leave out larger files, such as 100MB')
    .option('--limit-up <size>', 'send at most so much in a second, such as 200kB')
    .option('--limit-down <size>', 'receive at most so much in a second');
}

/** Overrides the settings of a folder with the options of the command line. @throws UsageError */
export function selected<T extends Pick<Settings, 'only' | 'maxSize' | 'limitUp' | 'limitDown'>>(
  settings: T,
  { only, maxSize, limitUp, limitDown }: SelectionOptions,
): T {
  for (const size of [maxSize, limitUp, limitDown]) if (size !== undefined) parseSize(size);
  return {
    ...settings,
    ...(only !== undefined && { only }),
    ...(maxSize !== undefined && { maxSize }),
    ...(limitUp !== undefined && { limitUp }),
    ...(limitDown !== undefined && { limitDown }),
  };
}

export function bandwidthOf({ limitUp, limitDown }: Pick<Settings, 'limitUp' | 'limitDown'>): Bandwidth {
  return {
    up: limitUp === undefined ? undefined : parseSize(limitUp),
    down: limitDown === undefined ? undefined : parseSize(limitDown),
  };
}
