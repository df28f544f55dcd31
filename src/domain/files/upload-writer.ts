import { Injectable } from '@nestjs/common';
import { Clock } from '../../platform/clock/index.js';
import { Database, type Parameter } from '../../platform/database/index.js';
import { type Caller, WorkspaceAccess, WorkspaceClosed } from '../../access/index.js';
import { DocumentQuota } from './document-quota.js';
import { fileStatements } from './files.queries.js';
import type { Answered, Put } from './put.js';

/** Writes uploads in one commit each time: those to one workspace, or those to many that nobody else has locked. */
@Injectable()
export class UploadWriter {
  private readonly isOnNodes: boolean;

  constructor(
    private readonly database: Database,
    private readonly workspaceAccess: WorkspaceAccess,
    private readonly clock: Clock,
    private readonly quota: DocumentQuota,
  ) {
    this.isOnNodes = database.isDistributed;
  }

  /**
   * Uploads of one caller to one workspace, to different paths. Waits for the lock of the workspace.
   * @throws WorkspaceClosed when access was refused and nothing was written
   */
  async write(puts: readonly Put[]): Promise<Answered[]> {
    const [first] = puts;
    if (!first) return [];
    const access = await this.workspaceAccess.admittedParameters(first.caller);
    const values = [first.workspaceId, ...columns(puts), ...access];
    const rows = await this.putInto(first.workspaceId, values);
    if (rows.length === 0) throw new WorkspaceClosed();
    if (rows.length !== puts.length)
      throw new Error(`expected ${puts.length} upload results, got ${rows.length}`);
    return rows;
  }

  private async putInto(workspaceId: string, values: Parameter[]): Promise<Answered[]> {
    const { ofUploads } = this.quota;
    if (!this.isOnNodes) return this.database.run(fileStatements.put, [...values, ofUploads]);
    const elsewhere = await this.quota.heldElsewhere(workspaceId);
    return this.database.run(fileStatements.putOnNode, [...values, elsewhere, ofUploads]);
  }

  /** The part whose uploads are committed together; '' on one server. */
  async partOf(workspaceId: string): Promise<string> {
    return (await this.database.placeOf(workspaceId)).id;
  }

  /**
   * Uploads to any workspaces, on nodes to workspaces of one part, each of them with one caller and different paths. Never waits for
   * the lock of a workspace.
   * @returns undefined for uploads to a workspace that is closed to the caller, locked, or deleted, which are not written; on nodes
   * also for other reasons
   */
  async writeUnlocked(puts: readonly Put[]): Promise<(Answered | undefined)[]> {
    const outcomes = Array<Answered | undefined>(puts.length).fill(undefined);
    if (this.isOnNodes) {
      await this.writeOnNode(puts, outcomes);
      return outcomes;
    }
    const accessOf = (caller: Caller | undefined): AccessParameters =>
      this.workspaceAccess.accessParameters(caller);
    const values = valuesTogether(puts, accessOf, this.clock.now(), this.quota.ofUploads);
    const rows = await this.database.run<Placed>(fileStatements.putTogether, values);
    for (const row of rows) outcomes[row.place - 1] = row;
    return outcomes;
  }

  /** Leaves out uploads of accounts of which it is not known what they hold elsewhere. */
  private async writeOnNode(puts: readonly Put[], outcomes: (Answered | undefined)[]): Promise<void> {
    const admitted = await this.workspaceAccess.areAdmitted(puts.map(({ caller }) => caller));
    const elsewhere = puts.map(({ workspaceId }) => this.quota.knownElsewhere(workspaceId));
    const open = [...puts.keys()].filter((n) => admitted[n] && elsewhere[n] !== undefined);
    if (open.length === 0) return;
    const uploads = open.map((n) => ({ put: puts[n] as Put, held: elsewhere[n] ?? 0 }));
    const values = valuesOnShard(uploads, this.quota.ofUploads);
    const rows = await this.database.run<Placed>(fileStatements.putTogether, values);
    for (const row of rows) outcomes[open[row.place - 1] as number] = row;
  }
}

type Placed = Answered & { readonly place: number };

type AccessParameters = ReturnType<WorkspaceAccess['accessParameters']>;

/** The values of `fileStatements.putTogether`. */
export function valuesTogether(
  puts: readonly Put[],
  accessOf: (caller: Caller | undefined) => AccessParameters,
  now: Date,
  quota: number | null,
): Parameter[] {
  const workspaces = new Places<string>();
  const users = new Places<string | null>();
  const owners: number[] = [];
  const graceDays: (number | null)[] = [];
  const places = puts.map(({ workspaceId, caller }) => {
    const place = workspaces.of(workspaceId);
    if (place > owners.length) {
      const [userId, , days] = accessOf(caller);
      owners.push(users.of(userId));
      graceDays.push(days);
    }
    return place;
  });
  return [workspaces.all, owners, graceDays, now, users.all, quota, places, ...columns(puts)];
}

/**
 * The values of `fileStatements.putTogether` for the tables of a shard.
 * @param uploads with what the account of each holds in other workspaces
 */
function valuesOnShard(
  uploads: readonly { readonly put: Put; readonly held: number }[],
  quota: number | null,
): Parameter[] {
  const workspaces = new Places<string>();
  const owners: (string | null)[] = [];
  const elsewhere: number[] = [];
  const places = uploads.map(({ put: { workspaceId, caller }, held }) => {
    const place = workspaces.of(workspaceId);
    if (place > owners.length) {
      owners.push(caller?.userId ?? null);
      elsewhere.push(held);
    }
    return place;
  });
  const puts = uploads.map(({ put }) => put);
  return [workspaces.all, owners, elsewhere, quota, places, ...columns(puts)];
}

/** Different values with their 1-based places. */
class Places<T> {
  private readonly places = new Map<T, number>();

  of(value: T): number {
    const place = this.places.get(value) ?? this.places.size + 1;
    this.places.set(value, place);
    return place;
  }

  get all(): T[] {
    return [...this.places.keys()];
  }
}

/** The bytes are sent as one buffer with the length of each upload: an array of buffers would be sent as text. */
const columns = (puts: readonly Put[]): Parameter[] => [
  puts.map((put) => put.encryptedPath),
  puts.map((put) => put.contentHash),
  puts.map((put) => put.size),
  puts.map((put) => put.deviceId),
  puts.map((put) => put.now.toISOString()),
  puts.map((put) => put.fileId),
  puts.map((put) => put.versionId),
  puts.map((put) => put.blobId),
  Buffer.concat(puts.flatMap((put) => put.bytes ?? [])),
  puts.map((put) => put.bytes?.length ?? null),
  puts.map((put) => put.precondition.ifMatch?.join(',') ?? null),
  puts.map((put) => String(put.precondition.ifAbsent)),
];
