import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type Accomplice, makeAccomplices } from './accomplices.js';
import { type Arena, type ArenaOptions, openArena } from './arena.js';
import type { Orders, Tallies } from './attackers.js';
import { fill, fillArchive, type Possessions } from './fill.js';
import type { Report } from './ledger.js';
import { json, Peer } from './peer.js';
import { mintJwt, type Person, signUp } from './person.js';
import { type Recovery, Witnesses } from './recovery.js';
import { sha256 } from './user.js';
import type { Upload } from './vaults.js';
import { Worker } from './worker.js';

export interface Blown {
  /** The answers that ordinary users got during the storm. */
  readonly report: Report;
  readonly tallies: Tallies;
  readonly recovery: Recovery;
}

export interface Kept {
  /** One line per acknowledged change that is missing or wrong. */
  readonly faults: readonly string[];
  readonly workspaces: readonly { readonly id: string; readonly token: string }[];
}

/** The service, with ordinary users in one process and attackers in another. */
export class Storm {
  private possessions: Possessions | undefined;

  private constructor(
    readonly arena: Arena,
    private readonly users: Worker,
    private readonly attackers: Worker,
    private readonly witnesses: Witnesses,
    private readonly hostile: Person,
    private readonly accomplices: readonly Accomplice[],
  ) {}

  static async open(options: ArenaOptions & { users: number }): Promise<Storm> {
    const arena = await openArena(options);
    const [users, attackers] = [new Worker('users'), new Worker('attackers')];
    try {
      const { target, database } = arena;
      const archives = await users.call<string[]>('settle', { target, count: options.users });
      for (const archive of archives) await fillArchive(database, archive);
      await users.call('mark');
      const witnesses = await Witnesses.at(arena);
      const accomplices = await makeAccomplices(target);
      const hostile = await signUp(target, 'hostile', 0);
      return new Storm(arena, users, attackers, witnesses, hostile, accomplices);
    } catch (error) {
      await Promise.all([users.stop(), attackers.stop()]);
      await arena.close();
      throw error;
    }
  }

  /** Runs ordinary users alone. */
  async calm(seconds: number): Promise<Report> {
    await this.users.call('enter', 'calm');
    await this.users.call('start');
    await pause(seconds * 1000);
    return this.users.call<Report>('stop');
  }

  /** Runs users and attackers. @param only names of attacks; all when empty @param beside the storm lasts at least this long */
  async blow(
    seconds: number,
    only: readonly string[] = [],
    beside: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<Blown> {
    const { arena, hostile, accomplices } = this;
    const possessions = await fill(arena.database, hostile.userId, this.upload, this.possessions);
    this.possessions = possessions;
    await this.users.call('enter', 'storm');
    await this.users.call('start');
    const orders: Orders = { target: arena.target, hostile, accomplices, possessions, only };
    await this.attackers.call('start', orders);
    await Promise.all([pause(seconds * 1000), beside()]);
    const [report, after] = await Promise.all([this.users.call<Report>('stop'), this.quiet()]);
    return { report, ...after };
  }

  /** Stops the attackers, then measures the time until everything works as before, including users in the middle of a turn. */
  private async quiet(): Promise<Omit<Blown, 'report'>> {
    const tallies = await this.attackers.call<Tallies>('stop');
    return { tallies, recovery: await this.witnesses.recovered() };
  }

  /** Compares the service's data with the changes that it acknowledged. */
  verify(): Promise<Kept> {
    return this.users.call<Kept>('verify');
  }

  /** The peak memory of any instance so far, in bytes (Linux). */
  mostResidentBytes(): number {
    const peaks = this.arena.instances.map(({ pid }) => {
      const kilobytes = /VmHWM:\s+(\d+) kB/.exec(status(pid))?.[1];
      return Number(kilobytes ?? NaN) * 1024;
    });
    return Math.max(...peaks);
  }

  /** How instances have ended; empty while all run. */
  ends(): string[] {
    return this.arena.instances.flatMap(({ end }) => end() ?? []);
  }

  /** The hostile account's bytes in the workspaces that it uploads to, and its number of live workspaces. */
  async taken(): Promise<{ bytes: number; workspaces: number }> {
    const { rows } = await this.arena.database.query<{ bytes: string; workspaces: string }>(
      `SELECT (SELECT coalesce(sum(size), 0) FROM blobs WHERE state = 'live' AND workspace_id = ANY ($1::uuid[])) AS bytes,
              (SELECT count(*) FROM workspaces WHERE user_id = $2 AND deleted_at IS NULL) AS workspaces`,
      [this.possessions?.many ?? [], this.hostile.userId],
    );
    return { bytes: Number(rows[0]?.bytes), workspaces: Number(rows[0]?.workspaces) };
  }

  private readonly upload: Upload = async (workspaceId, encryptedPath, content) => {
    const peer = new Peer(this.arena.target, 'hostile', 0);
    const token = await mintJwt(peer, this.hostile);
    const headers = { 'x-content-hash': sha256(content), 'x-device-id': 'hostile' };
    const path = `/api/v1/workspaces/${workspaceId}/files/${encryptedPath}`;
    json(await peer.send('PUT', path, { token, headers, body: content }));
    peer.close();
  };

  async close(): Promise<void> {
    await Promise.all([this.users.stop(), this.attackers.stop()]);
    this.witnesses.close();
    await this.arena.close();
  }
}

function status(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8');
  } catch {
    return ''; // the process has ended
  }
}
