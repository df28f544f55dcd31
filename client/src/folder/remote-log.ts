import { DoesNotOpen, NeedsBootstrap, RemoteUnavailable } from './errors.js';
import { pathProblem } from './names.js';
import type { Cipher, Remote, RemoteChange, RemoteFile } from './ports.js';
import type { FolderState } from './state.js';
import { type OddRow, type RemoteRow, remoteRow } from './state-records.js';

const MOST_BEGINNINGS = 3;

/**
 * Brings the remote tree up to the head of the log.
 * @returns whether the known state was discarded, because the server does not know this device's cursor
 */
export async function followLog(remote: Remote, cipher: Cipher, state: FolderState): Promise<boolean> {
  const log = new LogFollower(remote, cipher, state);
  let hasForgotten = false;
  for (let beginning = 0; beginning < MOST_BEGINNINGS; beginning++) {
    try {
      if (state.cursor === undefined) await log.bootstrap();
      await log.pull();
      await state.sync();
      return hasForgotten;
    } catch (error) {
      if (!(error instanceof NeedsBootstrap)) throw error;
      // Compacted, or restored from a backup: what the server lost is still in the folders, and must not count as deleted.
      await state.forget();
      hasForgotten = true;
    }
  }
  throw new RemoteUnavailable('the server takes none of its own cursors: try again later');
}

class LogFollower {
  constructor(
    private readonly remote: Remote,
    private readonly cipher: Cipher,
    private readonly state: FolderState,
  ) {}

  /** Reads the live files. The cursor is that of the first page, so changes during the walk come after it. */
  async bootstrap(): Promise<void> {
    this.state.add({ t: 'snapshot' });
    let page = await this.remote.snapshot(undefined);
    const { cursor } = page;
    for (;;) {
      const { set, odd } = await this.rows(page.files);
      this.state.add({ t: 'page', set, odd });
      if (page.nextPageCursor === null) break;
      await this.state.write();
      page = await this.remote.snapshot(page.nextPageCursor);
    }
    this.state.add({ t: 'snapshot-end', cursor });
  }

  async pull(): Promise<void> {
    for (;;) {
      const from = this.state.cursor ?? 0;
      const { changes, cursor, hasMore } = await this.remote.pull(from);
      if (changes.length > 0) await this.take(changes, cursor);
      if (!hasMore) {
        this.dropLost();
        return;
      }
      if (cursor <= from) throw new RemoteUnavailable('the server repeats its log: try again later');
      await this.state.write();
    }
  }

  private async take(changes: readonly RemoteChange[], cursor: number): Promise<void> {
    const last = new Map(changes.map((change) => [change.encryptedPath, change]));
    const { set, odd } = await this.rows([...last.values()].filter(({ action }) => action === 'upsert'));
    const deleted = [...last.values()].filter(({ action }) => action === 'delete');
    const names = await Promise.all(deleted.map(({ encryptedPath }) => this.pathOf(encryptedPath)));
    this.state.add({
      t: 'pull',
      cursor,
      set,
      odd,
      gone: names.flatMap(({ path }) => path ?? []),
      oddGone: names.flatMap(({ path }, index) =>
        path === undefined ? (deleted[index]?.encryptedPath ?? []) : [],
      ),
    });
    await this.confirm(changes);
  }

  /**
   * Records that the log shows an answered upload. Must follow the record of the cursor: after a crash in between, a server
   * restored to a state before it would seem to have replaced what it has lost.
   */
  private async confirm(changes: readonly RemoteChange[]): Promise<void> {
    if (this.state.ahead.size === 0) return;
    for (const { encryptedPath, contentHash, action } of changes) {
      const { path = '' } = await this.pathOf(encryptedPath);
      const synced = this.state.ahead.has(path) ? this.state.synced.get(path) : undefined;
      if (action === 'upsert' && synced?.contentHash === contentHash)
        this.state.setSynced(path, { ...synced, isAhead: false });
    }
  }

  /**
   * An answered upload that is not in the log up to its head was lost: the server was restored from a backup that is newer
   * than this device's cursor. The file must not count as deleted or replaced there.
   */
  private dropLost(): void {
    for (const path of this.state.ahead) this.state.dropSynced(path);
  }

  private async rows(files: readonly RemoteFile[]): Promise<{ set: RemoteRow[]; odd: OddRow[] }> {
    const set: RemoteRow[] = [];
    const odd: OddRow[] = [];
    for (const file of files) {
      const { path, problem } = await this.pathOf(file.encryptedPath);
      if (path === undefined) odd.push([file.encryptedPath, problem]);
      else set.push(remoteRow(path, file));
    }
    return { set, odd };
  }

  /** Another client wrote the path, so it is validated before use. */
  private async pathOf(encryptedPath: string): Promise<{ path?: string; problem: string }> {
    try {
      const path = await this.cipher.decryptPath(encryptedPath);
      const problem = pathProblem(path);
      return problem === undefined ? { path, problem: '' } : { problem };
    } catch (error) {
      if (error instanceof DoesNotOpen) return { problem: error.message };
      throw error;
    }
  }
}
