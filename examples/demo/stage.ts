import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Device } from './device.js';
import { walk } from './walk.js';

/** Two devices, and a directory that the demo may change freely. Changes files as a user would, not through the client. */
export class Stage {
  constructor(
    readonly laptop: Device,
    readonly phone: Device,
    readonly directory: string,
  ) {}

  at(device: Device, name: string): string {
    return join(device.root, this.directory, name);
  }

  async names(device: Device): Promise<string[]> {
    const names = await readdir(this.at(device, '.'));
    return names.map((name) => name.normalize('NFC')).sort();
  }

  /** Every file below the directory with its text, as one comparable string. */
  async contents(device: Device): Promise<string> {
    const { files } = await walk(this.at(device, '.'));
    const texts = [...files].map(async ([path, { onDisk }]) => [path, await readFile(onDisk, 'utf8')]);
    return JSON.stringify(await Promise.all(texts));
  }
}

/** @throws when the condition is false */
export function expect(isSo: boolean, what: string): void {
  if (!isSo) throw new Error(`the demo expected ${what}`);
}
