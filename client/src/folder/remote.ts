import {
  type DownloadOutcome,
  type Log,
  type Session,
  type UploadOutcome,
  Workspace,
} from '../core/index.js';
import type {
  Deletion,
  Download,
  OpenedDownload,
  Pulled,
  Pushed,
  Remote,
  SnapshotPage,
  Upload,
  Uploaded,
  Wanted,
} from './ports.js';
import { asRemoteError, reasonOf } from './remote-errors.js';

const MOST_DEVICE_NAME = 95; // with a hyphen and a stamp of 32 characters: 128, the most of a device id

/**
 * The id of a folder at the server: the name of the device for users, and the stamp of the folder, so that a machine and
 * its copy differ. Pushed deletions do not conflict with edits of the same device.
 */
export function deviceId(device: string, stamp: string): string {
  return `${device.replaceAll(/[^\x21-\x7e]/gu, '_').slice(0, MOST_DEVICE_NAME)}-${stamp}`;
}

/** A workspace at the service. */
export class WorkspaceRemote implements Remote {
  private current: Workspace | undefined;
  private walk: ReturnType<Log['snapshot']> | undefined;

  /** @param stamp returns `FolderSync.stamp`, which changes */
  constructor(
    private readonly session: Session,
    private readonly workspaceId: string,
    private readonly device: string,
    private readonly stamp: () => string,
  ) {}

  pull(cursor: number): Promise<Pulled> {
    return translated(() => this.workspace.log.pull(cursor));
  }

  /** Supports one walk at a time; a call without a cursor starts it. The page after the last one is empty. */
  async snapshot(pageCursor: string | undefined): Promise<SnapshotPage> {
    if (pageCursor === undefined) this.walk = this.workspace.log.snapshot();
    const { walk } = this;
    if (!walk) throw new RangeError('this page is of a walk that has ended');
    const cursor = Number(pageCursor ?? 0);
    try {
      const { value } = await translated(() => walk.next());
      if (value) return { ...value, nextPageCursor: String(value.cursor) };
      this.walk = undefined;
      return { files: [], cursor, nextPageCursor: null };
    } catch (error) {
      this.walk = undefined; // an interrupted walk must not look like a finished one
      throw error;
    }
  }

  async *downloadMany(items: readonly Wanted[]): AsyncGenerator<Download, void> {
    // The caller has room for these sizes. A larger content has changed since, which the log will show.
    const largeBytes = items.reduce((most, { encryptedSize }) => Math.max(most, encryptedSize), 0);
    try {
      for await (const outcome of this.workspace.downloadMany(items, { largeBytes })) {
        const answer = downloadOf(outcome);
        if (answer) yield answer;
      }
    } catch (error) {
      throw asRemoteError(error);
    }
  }

  async openDownload({ encryptedPath }: Wanted): Promise<OpenedDownload> {
    const outcome = await translated(() => this.workspace.openDownload(encryptedPath));
    if (outcome.kind !== 'opened') return { encryptedPath, ...missing(outcome) };
    const { contentHash, encryptedSize, chunks, cancel } = outcome.opened;
    return {
      encryptedPath,
      status: 'found',
      contentHash,
      encryptedSize,
      envelope: translatedChunks(chunks),
      cancel,
    };
  }

  async *uploadMany(items: readonly Upload[]): AsyncGenerator<Uploaded, void> {
    const uploads = items.map(({ envelope, base = null, ...item }) => ({ ...item, content: envelope, base }));
    try {
      for await (const outcome of this.workspace.uploadMany(uploads)) yield uploadedOf(outcome);
    } catch (error) {
      throw asRemoteError(error);
    }
  }

  async push(baseCursor: number, deletions: readonly Deletion[]): Promise<Pushed> {
    const asked = deletions.map(({ encryptedPath, contentHash }) => ({ encryptedPath, contentHash }));
    const kept = await translated(() => this.workspace.log.pushDeletions(baseCursor, asked));
    const conflicts = new Set(kept.map(({ encryptedPath }) => encryptedPath));
    const accepted = asked.map(({ encryptedPath }) => encryptedPath).filter((path) => !conflicts.has(path));
    return { accepted, conflicts: [...conflicts] };
  }

  /** Uses the current stamp of the folder. */
  private get workspace(): Workspace {
    const id = deviceId(this.device, this.stamp());
    if (this.current?.deviceId !== id) this.current = new Workspace(this.session, this.workspaceId, id);
    return this.current;
  }
}

async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw asRemoteError(error);
  }
}

async function* translatedChunks(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  try {
    yield* chunks;
  } catch (error) {
    throw asRemoteError(error);
  }
}

type Missing = { readonly kind: 'missing' } | { readonly kind: 'failed'; readonly error: Error };

const missing = (outcome: Missing): { readonly status: 'missing'; readonly reason: string } => ({
  status: 'missing',
  reason: outcome.kind === 'failed' ? reasonOf(outcome.error) : 'the server does not have it',
});

/** @returns undefined for a file to request again, after reading the log */
function downloadOf({ download: { encryptedPath }, outcome }: DownloadOutcome): Download | undefined {
  switch (outcome.kind) {
    case 'content':
      return { encryptedPath, status: 'found', contentHash: outcome.contentHash, envelope: outcome.content };
    case 'missing':
    case 'failed':
      return { encryptedPath, ...missing(outcome) };
    case 'unchanged':
    case 'large':
      return undefined;
  }
}

function uploadedOf({ upload: { encryptedPath, contentHash }, outcome }: UploadOutcome): Uploaded {
  switch (outcome.kind) {
    case 'stored':
      return { encryptedPath, status: 'stored', contentHash, version: outcome.version };
    case 'outdated':
      return { encryptedPath, status: 'overtaken' };
    case 'failed':
      return { encryptedPath, status: 'refused', reason: reasonOf(outcome.error) };
  }
}
