import { Confirmation } from './confirmation.js';
import { DiskError } from './errors.js';
import { execute, needsWork } from './execute.js';
import type { Traits } from './names.js';
import type { Operation, Plan } from './operations.js';
import type { Report } from './report.js';
import { IGNORE_FILE } from './rules.js';
import { Memory, type Parts, Run, type SyncOptions } from './run.js';
import type { Session } from './session.js';
import type { FolderState } from './state.js';
import type { LocalTree } from './trees.js';

const MOST_ROUNDS = 5;

/** A plan, and the folder that it is based on. */
export interface Planned {
  readonly local: LocalTree;
  readonly plan: Plan;
}

/** One sync: runs rounds until nothing is left to do. */
export class Syncing {
  private readonly confirmation: Confirmation;
  private readonly memory = new Memory();
  private isRenewed = false;

  constructor(
    private readonly parts: Parts,
    private readonly options: SyncOptions,
    private readonly state: FolderState,
    private readonly session: Session,
    private readonly traits: Traits,
    private readonly report: Report,
    private readonly planned: (report: Report) => Promise<Planned>,
  ) {
    this.confirmation = new Confirmation(options.confirm);
  }

  async rounds(): Promise<void> {
    for (this.report.rounds = 1; this.report.rounds <= MOST_ROUNDS; this.report.rounds++)
      if (await this.round()) return;
  }

  /** @returns whether another round could not do more */
  private async round(): Promise<boolean> {
    const { parts, options, state, session, report, traits } = this;
    const { local, plan: made } = await this.planned(report);
    const run = new Run(parts, options, state, session, report, traits, local, this.memory);
    await this.confirmation.ask(made, state.synced);
    const operations = this.chosen(run, made);
    if (needsWork(operations)) await this.renew();
    await execute(run, operations);
    await run.settle();
    report.unsettled = [...run.overtaken].filter((path) => !report.failed.has(path));
    report.blocked = made.waiting;
    return !run.hasActed && run.overtaken.size === 0;
  }

  private chosen(run: Run, { operations, heldBack }: Plan): Operation[] {
    const { report, state, confirmation } = this;
    const failing = new Set(operations.filter((operation) => run.hasFailed(operation)));
    const stillFailing = new Set([...failing].map(({ path }) => path));
    for (const path of report.failed.keys()) if (!stillFailing.has(path)) report.failed.delete(path);
    const refused = operations.filter((operation) => confirmation.isRefused(operation));
    const left = new Set([...failing, ...refused]);
    report.refused.splice(0, Infinity, ...confirmation.refused);
    report.heldBack = [
      ...heldBack,
      ...Array.from(state.odd, ([path, reason]) => ({ path, reason })),
      ...refused.map(({ path }) => ({ path, reason: 'one of many deletions at once: confirm them (--yes)' })),
    ];
    const all = operations.filter((operation) => !left.has(operation));
    // Fetch new rules first: files that they exclude need not be fetched.
    const rules = all.filter(({ kind, path }) => path === IGNORE_FILE && kind === 'download');
    return rules.length > 0 ? rules : all;
  }

  /** Runs once, before the first change: earlier copies of state or folder can be told apart from then on. */
  private async renew(): Promise<void> {
    if (this.isRenewed) return;
    this.isRenewed = true;
    try {
      await this.session.renew();
    } catch (error) {
      if (!(error instanceof DiskError)) throw error; // a full or read-only folder can still be uploaded, or be emptied
    }
  }
}
