import type { Operation, Plan } from './operations.js';
import { type Direction, type MassDeletion, massDeletions } from './plan.js';
import type { SyncedTree } from './trees.js';

const KIND = { here: 'delete-local', 'on the server': 'delete-remote' } as const;

/** Asks about mass deletions, once per sync for each direction and set of paths. */
export class Confirmation {
  readonly refused = new Set<Direction>();
  private readonly allowed = new Set<string>();

  constructor(private readonly confirm: ((deletions: MassDeletion) => Promise<boolean>) | undefined) {}

  async ask(plan: Plan, synced: SyncedTree): Promise<void> {
    for (const deletions of massDeletions(plan, synced)) {
      const { direction, paths } = deletions;
      const key = (path: string): string => `${direction}:${path}`;
      if (this.refused.has(direction) || paths.every((path) => this.allowed.has(key(path)))) continue;
      if (await this.confirm?.(deletions)) for (const path of paths) this.allowed.add(key(path));
      else this.refused.add(direction);
    }
  }

  /** After a refusal, this sync carries out no deletion in that direction, however few are left. */
  isRefused({ kind }: Operation): boolean {
    return [...this.refused].some((direction) => KIND[direction] === kind);
  }
}
