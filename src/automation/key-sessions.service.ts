import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import type { Principal } from '../access/index.js';
import { type Acting, type AuditEntry, AuditLog } from '../audit/index.js';
import { lockOwnUser } from '../auth/index.js';
import { Clock } from '../platform/clock/index.js';
import { Database, newId, type Parameter } from '../platform/database/index.js';
import { EventBus } from '../platform/events/index.js';
import { notFoundIfPurged } from '../platform/http/index.js';
import { TrustedTime } from '../platform/jobs/index.js';
import { Log } from '../platform/log/index.js';
import { KeyCheck, type OpenKeySessionRequest } from './key-check.js';
import { endOf, keySessionStatements, liveAt } from './key-sessions.queries.js';
import { type Binding, generateToken, hashToken, isToken, unwrapKey, wrapKey } from './key-wrap.js';
import { deriveVaultKeys, type VaultKeys } from './vault-crypto.js';
import { KeySessionRequired, type Vault } from './vault.js';

/** Event bus topic: a client has ended a key session; the key is the session id. */
export const KEY_SESSION_ENDED = 'key-session-ended';

const NOTE_USE_EVERY_MS = 5_000;

/** Per user. */
const MAX_SESSIONS = 1_000;

interface SessionRow {
  readonly id: string;
  readonly accessTokenId: string | null;
  readonly wrappedKey: Buffer;
  readonly lastUsedAt: Date;
}

/**
 * Key sessions: for 15 minutes after its last use, and 8 hours at most, a session's token lets its holder have the
 * service read and write one workspace in plaintext. The row holds the master key wrapped with the token, so every
 * instance can serve the session, but none can without the token. Nothing is cached: a session that has ended is
 * refused immediately.
 */
@Injectable()
export class KeySessions {
  constructor(
    private readonly keyCheck: KeyCheck,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly bus: EventBus,
    private readonly log: Log,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Opens a session, which is recorded once an hour for each credential, address and workspace: a program may open many. If the user has 1,000 others, the least recently used one is ended.
   * @returns the token, which is never shown again, and the time at which it ends unless it is used
   * @throws whatever `KeyCheck.masterKey` throws, NotFound when the workspace has been deleted meanwhile
   */
  async open(
    { userId, tokenId, sessionId }: Principal,
    workspaceId: string,
    request: OpenKeySessionRequest,
    by: Acting,
  ): Promise<{ token: string; expiresAt: Date }> {
    const { key, name } = await this.keyCheck.masterKey(workspaceId, request);
    const token = generateToken();
    const now = this.clock.now();
    const id = newId();
    const wrapped = wrapKey(token, { id, userId, workspaceId }, key);
    key.fill(0);
    const row = [id, hashToken(token), userId, workspaceId, tokenId, sessionId ?? null, wrapped, now];
    const credential: AuditEntry['details'] = tokenId === null ? { sessionId: sessionId ?? '' } : { tokenId };
    const details = { workspace: name, workspaceId, ...credential };
    const entry: AuditEntry = { action: 'key-session.opened', userId, ...by, details };
    for (const ended of await this.insert(entry, id, row)) this.announceEnd(ended);
    return { token, expiresAt: endOf(now) };
  }

  /**
   * Opens the vault for one request, which counts as a use; the caller must wipe the vault afterwards.
   * @throws KeySessionRequired for a token that is unknown, has ended, or belongs to another user or workspace
   */
  async unlock(token: unknown, userId: string, workspaceId: string): Promise<Vault> {
    if (!isToken(token)) throw new KeySessionRequired();
    const now = this.clock.now();
    const values = [...liveAt(now), hashToken(token), userId, workspaceId];
    const [row] = await this.database.run<SessionRow>(keySessionStatements.find, values);
    if (!row) throw new KeySessionRequired();

    const keys = keysIn(row, token, { id: row.id, userId, workspaceId });
    await this.noteUse(row, now);
    return { sessionId: row.id, accessTokenId: row.accessTokenId, userId, workspaceId, keys };
  }

  /** Ends the session on all instances. */
  async end(sessionId: string): Promise<void> {
    await this.database.run(keySessionStatements.end, [sessionId]);
    this.announceEnd(sessionId);
  }

  /** @throws KeySessionRequired when the session has ended */
  async requireLive(sessionId: string): Promise<void> {
    if (!(await this.liveAmong([sessionId])).has(sessionId)) throw new KeySessionRequired();
  }

  /** Those of the sessions that are still live. */
  async liveAmong(sessionIds: readonly string[]): Promise<Set<string>> {
    const values = [...liveAt(this.clock.now()), sessionIds];
    const rows = await this.database.run<{ id: string }>(keySessionStatements.liveAmong, values);
    return new Set(rows.map(({ id }) => id));
  }

  /**
   * Returns the sessions that were ended to make room. @throws NotFound, Unauthorized when the account has just been
   * deleted
   */
  private async insert(entry: AuditEntry, id: string, row: readonly Parameter[]): Promise<string[]> {
    const { userId } = entry;
    const isRepeated = await this.audit.hasRecent(entry); // not under the lock: of two at once, both may be recorded
    try {
      const ended = await this.database.transaction(async (tx) => {
        await lockOwnUser(tx, userId);
        await tx.run(keySessionStatements.insert, row);
        if (!isRepeated) await this.audit.record(entry, tx);
        return tx.run<{ id: string }>(keySessionStatements.endSurplus, [userId, id, MAX_SESSIONS]);
      });
      return ended.map((session) => session.id);
    } catch (error) {
      throw notFoundIfPurged(error);
    }
  }

  private announceEnd(sessionId: string): void {
    this.bus.publish({ topic: KEY_SESSION_ENDED, key: sessionId });
  }

  /** Writes at most once every five seconds per session, so a session may end up to five seconds early. */
  private async noteUse({ id, lastUsedAt }: SessionRow, now: Date): Promise<void> {
    const due = new Date(now.getTime() - NOTE_USE_EVERY_MS);
    if (lastUsedAt > due) return;
    await this.log.bestEffort('record the use of a key session', () =>
      this.database.run(keySessionStatements.noteUse, [id, now, due]),
    );
  }
}

/** @throws KeySessionRequired for a row that was altered or swapped with another */
function keysIn({ wrappedKey }: SessionRow, token: string, binding: Binding): VaultKeys {
  let key: Buffer;
  try {
    key = unwrapKey(token, binding, wrappedKey);
  } catch {
    throw new KeySessionRequired();
  }
  const keys = deriveVaultKeys(key);
  key.fill(0);
  return keys;
}

const EVERY_MS = 60_000;

/**
 * Removes the rows of expired sessions, which no longer open anything. The rows of a purged workspace are removed
 * with it.
 */
@Injectable()
export class EndedKeySessions {
  constructor(
    private readonly database: Database,
    private readonly time: TrustedTime,
    private readonly log: Log,
  ) {}

  /** Removes sessions that have expired or whose personal access token has ended. */
  @Interval(EVERY_MS)
  async forget(): Promise<void> {
    await this.log.bestEffort('remove ended key sessions', async () =>
      this.database.run(keySessionStatements.forgetEnded, liveAt(await this.time.now())),
    );
  }
}
