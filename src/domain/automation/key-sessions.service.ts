import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { InjectRepository } from '@nestjs/typeorm';
import { Column, Entity, In, LessThanOrEqual, Not, PrimaryColumn, Repository } from 'typeorm';
import type { Principal } from '../../access/index.js';
import { Clock } from '../../platform/clock.js';
import { Database, newId, type Tx } from '../../platform/database/index.js';
import { EventBus } from '../../platform/events/index.js';
import { notFoundIfPurged } from '../../platform/http/index.js';
import { TrustedTime } from '../../platform/jobs/index.js';
import { Log } from '../../platform/log.js';
import { type Acting, type AuditEntry, AuditLog } from '../auth/audit/index.js';
import { lockOwnUser } from '../auth/index.js';
import { endOf, keySessionStatements, liveAt } from './automation.queries.js';
import { KeySessionRequired, type Vault } from './contents.js';
import { KeyCheck, type OpenKeySessionRequest } from './key-check.js';
import { type Binding, generateToken, hashToken, isToken, unwrapKey, wrapKey } from './slot-keys.js';
import { WipeableKeys } from './wipeable-keys.js';

/** A key session. The master key is wrapped with the token, of which the service has only the hash. */
@Entity('key_sessions')
export class KeySession {
  @PrimaryColumn('uuid')
  id: string;

  /** SHA-256. Selected only when it is named. */
  @Column('bytea', { select: false })
  tokenHash: Buffer;

  @Column('uuid')
  userId: string;

  @Column('uuid')
  workspaceId: string;

  /** The access token that opened it; null when a JWT did. */
  @Column('uuid', { nullable: true })
  accessTokenId: string | null;

  @Column('bytea', { select: false })
  wrappedKey: Buffer;

  @Column('timestamptz')
  createdAt: Date;

  @Column('timestamptz')
  lastUsedAt: Date;

  /** The session of the JWT that opened it. */
  @Column('uuid', { nullable: true })
  sessionId: string | null;
}

/** Event bus topic: a client has ended a key session; the key is the session id. */
export const KEY_SESSION_ENDED = 'key-session-ended';

const NOTE_USE_EVERY_MS = 5_000;

/** Per user. */
const MAX_SESSIONS = 1_000;

type SessionRow = Pick<KeySession, 'id' | 'accessTokenId' | 'wrappedKey' | 'lastUsedAt'>;

/**
 * Key sessions: for 15 minutes after its last use, and 8 hours at most, a session's token lets its holder have the
 * service read and write one workspace in plaintext. The row holds the master key wrapped with the token, so every
 * instance can serve the session, but none can without the token. Nothing is cached: a session that has ended is
 * refused immediately.
 */
@Injectable()
export class KeySessions {
  constructor(
    @InjectRepository(KeySession) private readonly sessions: Repository<KeySession>,
    private readonly keyCheck: KeyCheck,
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly bus: EventBus,
    private readonly log: Log,
    private readonly audit: AuditLog,
  ) {}

  /**
   * Opens a session. If the user has 1,000 others, the least recently used one is ended. Openings are recorded once an hour for
   * each credential, address and workspace, because a program may open many.
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
    const session: KeySession = {
      id,
      tokenHash: hashToken(token),
      userId,
      workspaceId,
      accessTokenId: tokenId,
      sessionId: sessionId ?? null,
      wrappedKey: wrapKey(token, { id, userId, workspaceId }, key),
      createdAt: now,
      lastUsedAt: now,
    };
    key.fill(0);
    const credential: AuditEntry['details'] = tokenId === null ? { sessionId: sessionId ?? '' } : { tokenId };
    const details = { workspace: name, workspaceId, ...credential };
    const entry: AuditEntry = { action: 'key-session.opened', userId, ...by, details };
    for (const ended of await this.insert(entry, session)) this.announceEnd(ended);
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

    const keys = await keysIn(row, token, { id: row.id, userId, workspaceId });
    await this.noteUse(row, now);
    return { sessionId: row.id, accessTokenId: row.accessTokenId, userId, workspaceId, keys };
  }

  /** Ends the session on all instances. */
  async end(sessionId: string): Promise<void> {
    await this.sessions.delete({ id: sessionId });
    this.announceEnd(sessionId);
  }

  /** @throws KeySessionRequired when the session has ended */
  async requireLive(sessionId: string): Promise<void> {
    if (!(await this.liveAmong([sessionId])).has(sessionId)) throw new KeySessionRequired();
  }

  /** Returns the sessions that are still live. */
  async liveAmong(sessionIds: readonly string[]): Promise<Set<string>> {
    const values = [...liveAt(this.clock.now()), sessionIds];
    const rows = await this.database.run<{ id: string }>(keySessionStatements.liveAmong, values);
    return new Set(rows.map(({ id }) => id));
  }

  /** Returns the sessions that were ended to make room. @throws NotFound, Unauthorized when the account has just been deleted */
  private async insert(entry: AuditEntry, session: KeySession): Promise<string[]> {
    const isRepeated = await this.audit.hasRecent(entry); // not under the lock: two concurrent openings may both be recorded
    try {
      return await this.database.transaction(async (tx) => {
        await lockOwnUser(tx, session.userId);
        await tx.manager.getRepository(KeySession).insert(session);
        if (!isRepeated) await this.audit.record(entry, tx);
        return endSurplus(tx, session);
      });
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
      // Concurrent requests see the same old time; the condition lets only one of them write.
      this.sessions.update({ id, lastUsedAt: LessThanOrEqual(due) }, { lastUsedAt: now }),
    );
  }
}

/** Ends the user's sessions beyond the maximum, least recently used first, but never this one. Returns their ids. */
async function endSurplus(tx: Tx, { id, userId }: KeySession): Promise<string[]> {
  const sessions = tx.manager.getRepository(KeySession);
  const surplus = await sessions.find({
    select: { id: true },
    where: { userId, id: Not(id) },
    order: { lastUsedAt: 'DESC', id: 'DESC' },
    skip: MAX_SESSIONS - 1,
  });
  const ids = surplus.map((session) => session.id);
  if (ids.length > 0) await sessions.delete({ id: In(ids) });
  return ids;
}

/** @throws KeySessionRequired for a row that was altered or swapped with another */
async function keysIn({ wrappedKey }: SessionRow, token: string, binding: Binding): Promise<WipeableKeys> {
  let key: Uint8Array;
  try {
    key = unwrapKey(token, binding, wrappedKey);
  } catch {
    throw new KeySessionRequired();
  }
  try {
    return await WipeableKeys.of(key);
  } finally {
    key.fill(0);
  }
}

const EVERY_MS = 60_000;

/** Removes the rows of expired sessions, which no longer open anything. The rows of a purged workspace are removed with it. */
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
