import type { Connection } from './connection.js';
import { Latest } from './latest.js';
import { encode } from './messages.js';

const ASSETS_CHANGED = encode({ type: 'assets-changed' });

/** After a long gap one wake-up says as much as a thousand. */
const AT_ONCE = 20;

/** Wakes a room once for every committed change of its assets: by their revision, so that a lost event loses nothing. */
export class AssetFeed {
  private readonly latest = new Latest(() => this.read());
  private told: number | undefined;

  constructor(
    private readonly revision: () => Promise<number>,
    private readonly members: ReadonlySet<Connection>,
  ) {}

  differsFrom(revision: number): boolean {
    return this.told !== undefined && revision > this.told;
  }

  catchUp(): Promise<void> {
    return this.latest.run();
  }

  private async read(): Promise<void> {
    const revision = await this.revision();
    const changes = revision - (this.told ?? revision);
    this.told = revision;
    for (let told = 0; told < Math.min(changes, AT_ONCE); told++) {
      for (const member of this.members) member.sendEncoded(ASSETS_CHANGED);
    }
  }
}
