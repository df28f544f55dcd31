import { type TestUser, sha256 } from '../index.js';
import { Random } from '../random.js';
import type { Act } from './act.js';
import { bytesOf, type TokenHistory, type WorkspaceHistory } from './history.js';
import * as log from './log-acts.js';
import * as things from './thing-acts.js';

const SMALL = 300;
/** Larger than what is kept in rows. */
const LARGE = 80_000;

/** Items of a batch: one group, or more. */
const BATCH_ITEMS = [4, 100];

/** The service is busy or did not get the request in time: nothing was acknowledged. */
const EXCUSED = [503, 408];

/** The outcomes of the acts of a storm. */
export interface Tally {
  acknowledged: number;
  readonly acknowledgedKinds: Map<string, number>;
  readonly unheard: Act[];
  /** Answers that no fault explains. */
  readonly wrong: { kind: string; status: number; body: unknown }[];
}

/** A client with its own paths and names, which acts until it is stopped or gets no answer. */
export class Writer {
  private readonly random: Random;
  private readonly paths: string[] = [];
  private readonly labels: string[] = [];
  private readonly assets: string[] = [];
  private readonly names: string[] = [];
  private made = 0;

  constructor(
    private readonly id: string,
    seed: number,
    private readonly history: WorkspaceHistory,
    private readonly tokens: TokenHistory,
  ) {
    this.random = new Random(seed);
  }

  async write(user: TestUser, tally: Tally, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const act = await this.next(user).catch(() => undefined); // this may send a request
      if (!act) return;
      const answer = await act.send(user).catch(() => undefined);
      if (answer && act.expected.includes(answer.status)) {
        act.done(answer);
        tally.acknowledged += 1;
        tally.acknowledgedKinds.set(act.kind, (tally.acknowledgedKinds.get(act.kind) ?? 0) + 1);
        continue;
      }
      if (answer && !EXCUSED.includes(answer.status))
        tally.wrong.push({ kind: act.kind, status: answer.status, body: answer.body as unknown });
      act.lost();
      tally.unheard.push(act);
      return;
    }
  }

  private async next(user: TestUser): Promise<Act> {
    const { history, tokens, random } = this;
    const n = random.below(100);
    const path = this.live();
    if (path && n < 20) return log.upload(history, path, this.content());
    if (path && n < 28) return log.deletion(history, path);
    const others = this.paths.filter((other) => this.isLive(other)).slice(-3);
    if (others.length === 3 && n < 34) return log.push(history, others);
    if (path && n < 42) return this.restore(user, path);
    if (n < 48) return things.checkpoint(history, this.name(this.labels));
    const label = this.labels.find((made) => history.checkpoints.has(made));
    if (label && n < 51) return things.checkpointDeletion(history, label);
    if (n < 61) return things.asset(history, this.name(this.assets), this.envelope());
    const token = this.assets.find((made) => history.assets.has(made));
    if (token && n < 65) return things.assetDeletion(history, token);
    if (n < 68) return things.minting(tokens, this.name(this.names));
    const minted = this.names.find((made) => tokens.tokens.get(made)?.isRevoked === false);
    if (minted && n < 70) return things.revocation(tokens, minted);
    if (n < 76) return log.batch(history, this.batch());
    return log.upload(history, this.name(this.paths), this.content());
  }

  private batch(): Map<string, Buffer> {
    const { random, paths } = this;
    const old = paths.filter((other) => this.isLive(other)).slice(0, 2);
    const fresh = Array.from({ length: random.pick(BATCH_ITEMS) }, () => this.name(paths));
    return new Map([...fresh, ...old].map((path) => [path, this.content()]));
  }

  private async restore(user: TestUser, path: string): Promise<Act> {
    const { id, content_hash } = this.random.pick(await this.history.as(user).versions(path));
    return log.restore(this.history, path, id, content_hash);
  }

  private live(): string | undefined {
    const live = this.paths.filter((path) => this.isLive(path));
    return live.length > 0 ? this.random.pick(live) : undefined;
  }

  private isLive(path: string): boolean {
    return this.history.changes.get(path)?.at(-1)?.action === 'upsert';
  }

  private name(names: string[]): string {
    const name = sha256(`${this.id} ${++this.made}`);
    names.push(name);
    return name;
  }

  private content(): Buffer {
    return bytesOf(`${this.id} ${++this.made}`, this.random.next() < 0.85 ? SMALL : LARGE);
  }

  private envelope(): Buffer {
    return bytesOf(`${this.id} ${++this.made}`, this.random.next() < 0.7 ? SMALL : LARGE);
  }
}
