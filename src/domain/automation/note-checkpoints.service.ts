import { Injectable } from '@nestjs/common';
import { type Checkpoint, Checkpoints, Projections } from '../checkpoints/index.js';
import { Clock } from '../../platform/clock/index.js';
import { labelOrNull, pathOrNull } from './plaintext.js';
import { EventLoopYield } from '../../platform/async/index.js';
import { encryptLabel } from './vault-crypto.js';
import type { Vault } from './vault.js';

type Summary = Awaited<ReturnType<Projections['summary']>>;

/** A checkpoint with its label in plaintext; null when the label cannot be decrypted with this key. */
export interface NoteCheckpoint extends Omit<Checkpoint, 'encryptedLabel'> {
  readonly label: string | null;
}

type Entry = Omit<Summary['entries'][number], 'encryptedPath'>;

/** What changed up to a checkpoint; `path` is null when it cannot be decrypted with this key. */
export interface NoteSummary extends Omit<Summary, 'entries'> {
  readonly entries: ({ readonly path: string | null } & Entry)[];
}

/** Checkpoints with plaintext labels and paths. */
@Injectable()
export class NoteCheckpoints {
  constructor(
    private readonly checkpoints: Checkpoints,
    private readonly projections: Projections,
    private readonly clock: Clock,
  ) {}

  /** Marks the head of the log. */
  async create({ workspaceId, keys }: Vault, label: string): Promise<NoteCheckpoint> {
    const { id, ...made } = await this.checkpoints.create(workspaceId, encryptLabel(keys, label), 'manual');
    return { id, label, kind: made.kind, cursor: made.cursor, createdAt: made.createdAt };
  }

  /**
   * Lists by cursor, highest first, and newest first among equal cursors, page by page. Needs the keys until the last
   * page.
   */
  async *list({ workspaceId, keys }: Vault): AsyncGenerator<NoteCheckpoint[], void> {
    for await (const page of this.checkpoints.list(workspaceId))
      yield await this.each(page, ({ encryptedLabel, id, ...rest }) => ({
        id,
        label: labelOrNull(keys, encryptedLabel),
        ...rest,
      }));
  }

  /** Like the projection of the log. @throws NotFound, BadRequest, Conflict */
  async summary(vault: Vault, id: string, fromCursor?: number): Promise<NoteSummary> {
    const { entries, ...window } = await this.projections.summary(vault, id, fromCursor);
    const opened = await this.each(entries, ({ encryptedPath, ...entry }) => ({
      path: pathOrNull(vault.keys, encryptedPath),
      ...entry,
    }));
    return { ...window, entries: opened };
  }

  private async each<From, To>(rows: readonly From[], open: (row: From) => To): Promise<To[]> {
    const turns = new EventLoopYield(this.clock);
    const opened: To[] = [];
    for (const row of rows) {
      opened.push(open(row));
      await turns.pause();
    }
    return opened;
  }
}
