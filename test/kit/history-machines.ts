import { join } from 'node:path';
import { Machines } from './cli-machines.js';
import type { Machine } from './command-line.js';
import { useInTests } from './use-in-tests.js';

interface Listed {
  readonly version: number;
  readonly id: string;
  readonly savedAt: string;
  readonly size: number;
  readonly device: string | null;
}

/** Call outside of all tests. A machine for each test, whose user and workspace are new. */
export const useMachineWithHistory = (): MachineWithHistory => useInTests(new MachineWithHistory());

export class MachineWithHistory extends Machines {
  one!: Machine;
  workspace!: string;

  override async beginTest(): Promise<void> {
    await super.beginTest();
    Object.assign(this, await this.first());
  }

  /** A second machine on the same workspace. */
  second(): Promise<Machine> {
    return this.another(this.workspace);
  }

  readonly at = (path: string, of = this.one): string => join(of.folder, path);

  readonly versions = async (path: string): Promise<Listed[]> =>
    (await this.one.json(['log', this.at(path)]))['versions'] as Listed[];
}
