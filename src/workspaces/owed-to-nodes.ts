import { setTimeout } from 'node:timers/promises';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { BEFORE_ALL_IDS, Database, pagesById, type Statement } from '../platform/database/index.js';
import { Background } from '../platform/jobs/index.js';
import { Log } from '../platform/log/index.js';

const LOOK_AGAIN_MS = 60_000;
const PAGE = 1_000;
const SOON_MS = 1_000;

/** Work that rows on the coordinator owe to workspaces on nodes: what decides about it must not wait for them. */
export interface Debt {
  /** Says in a log what could not be done: `could not …`. */
  readonly what: string;
  /** A page of the ids of workspaces to which it is owed: those above $1, in order, at most $2. */
  readonly page: Statement;
  /**
   * Does the work for workspaces of one node and removes its rows, in one transaction. Several instances may do so at once.
   */
  settle(workspaceIds: readonly string[]): Promise<void>;
}

/** Settles what is owed to the workspaces of a node soon after it answers again, and looks for it every minute. */
@Injectable()
export class OwedToNodes implements OnApplicationBootstrap {
  private readonly debts: Debt[] = [];
  private settling: Promise<void> | undefined;

  constructor(
    private readonly database: Database,
    private readonly background: Background,
    private readonly log: Log,
  ) {}

  /** Call this during set-up. */
  add(debt: Debt): void {
    this.debts.push(debt);
  }

  onApplicationBootstrap(): void {
    if (!this.background.isOn) return;
    this.database.onNodeBack(() => void this.settleAll());
    void this.settleAll();
  }

  /** Nothing is owed on one server. Never fails: what is left waits for the next call. */
  @Interval(LOOK_AGAIN_MS)
  settleAll(): Promise<void> {
    if (!this.database.isDistributed) return Promise.resolve();
    this.settling ??= this.settlePages().finally(() => (this.settling = undefined));
    return this.settling;
  }

  /**
   * Settles what is owed to these workspaces, except those of nodes that are away. Never fails; after a second it goes on by itself,
   * because a node that is silent is not known to be away before long.
   */
  async settleSoon(debt: Debt, workspaceIds: readonly string[]): Promise<void> {
    const given = new AbortController();
    const settled = this.settle(debt, workspaceIds).finally(() => given.abort());
    await Promise.race([settled, setTimeout(SOON_MS, undefined, given).catch(() => undefined)]);
  }

  private async settle(debt: Debt, workspaceIds: readonly string[]): Promise<void> {
    await this.log.bestEffort(debt.what, async () => {
      const { groups } = await this.database.byNode(workspaceIds);
      for (const group of groups) await this.log.bestEffort(debt.what, () => debt.settle(group));
    });
  }

  private async settlePages(): Promise<void> {
    for (const debt of this.debts)
      await this.log.bestEffort(debt.what, async () => {
        const pages = pagesById(BEFORE_ALL_IDS, PAGE, (above) =>
          this.database.run<{ id: string }>(debt.page, [above, PAGE]),
        );
        for await (const page of pages)
          await this.settle(
            debt,
            page.map(({ id }) => id),
          );
      });
  }
}
