import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { Clock } from '../../platform/clock.js';
import type { Tx } from '../../platform/database/index.js';
import { EventBus } from '../../platform/events/index.js';
import { AuthAccount, AuthSession, AuthVerification, credentialOf } from './auth.entities.js';
import { accessTokenStatements, factorStatements, sessionStatements } from './auth.queries.js';
import { endPendingSignIns } from './factors/index.js';
import { revokeLinks } from './mail-links.js';
import { Passkey } from './passkeys/index.js';
import { TOKEN_REVOKED } from './pat-verifier.js';

/** What an event does to credentials; `asked` ends them if the user asks for it. */
type Fate = 'ends' | 'stays' | 'asked';

/** What happens to the session of the request; `renewed` continues it under a new id, which invalidates its JWTs. */
type OwnFate = 'ends' | 'stays' | 'renewed';

interface Effects {
  readonly ownSession: OwnFate;
  readonly otherSessions: Fate;
  /** Unused links in mails; `but-verification` keeps those that confirm an address. */
  readonly links: 'ends' | 'stays' | 'but-verification';
  readonly accessTokens: Fate;
  readonly passkeys: Fate;
  readonly factor: Fate;
  readonly password: Fate;
}

const NOTHING: Effects = {
  ownSession: 'stays',
  otherSessions: 'stays',
  links: 'stays',
  accessTokens: 'stays',
  passkeys: 'stays',
  factor: 'stays',
  password: 'stays',
};

const ALL_SESSIONS: Effects = {
  ...NOTHING,
  ownSession: 'ends',
  otherSessions: 'ends',
  links: 'but-verification',
};

/**
 * What each event ends. docs/guide/security-model.md shows this table, and a test checks every cell. JWTs, sockets, one-time
 * tokens and key sessions are not listed: they end with the session or the access token they came from. Sign-ins that wait for
 * a code end with the other sessions.
 */
export const ENDINGS = {
  /** The owner changed it with the current password. */
  'password-changed': {
    ...ALL_SESSIONS,
    ownSession: 'renewed',
    accessTokens: 'asked',
  },
  /** A link in a mail reset it, for an address that was confirmed before. */
  'password-reset': { ...ALL_SESSIONS, accessTokens: 'asked' },
  'password-reset-by-operator': ALL_SESSIONS,
  /** The first proof of the address, without the account's password: a stranger may have created the account. */
  'first-proof': {
    ...ALL_SESSIONS,
    links: 'ends',
    accessTokens: 'ends',
    passkeys: 'ends',
    factor: 'ends',
    password: 'ends',
  },
  'email-changed': { ...NOTHING, links: 'ends' },
  'provider-unlinked': { ...ALL_SESSIONS, ownSession: 'stays' },
  'factors-reset-by-operator': { ...ALL_SESSIONS, passkeys: 'ends', factor: 'ends' },
  'signed-out-everywhere': { ...ALL_SESSIONS, ownSession: 'stays' },
} as const satisfies Readonly<Record<string, Effects>>;

export type Ending = keyof typeof ENDINGS;

/** The acting session, and whether to revoke access tokens where the table says `asked`. */
interface Circumstances {
  /** The session of the request; without one, all sessions count as others. */
  readonly ownSession?: string | null;
  /** A new token for a renewed session; without one it keeps its token. */
  readonly newSessionToken?: string | null;
  readonly revokesAccessTokens?: boolean;
}

export interface Ended {
  /** The number of ended sessions that had not expired. */
  readonly sessions: number;
  /** The ids of the revoked access tokens. */
  readonly accessTokens: readonly string[];
}

/** Ends the credentials that `ENDINGS` lists for an event. */
@Injectable()
export class AccessEndings {
  constructor(
    private readonly clock: Clock,
    private readonly bus: EventBus,
  ) {}

  /** Runs in the transaction of the change. The caller holds the user's lock and calls `announce` after the commit. */
  async end(
    tx: Tx,
    userId: string,
    ending: Ending,
    { ownSession = null, newSessionToken = null, revokesAccessTokens = false }: Circumstances = {},
  ): Promise<Ended> {
    const effects: Effects = ENDINGS[ending];
    const now = this.clock.now();
    const applies = (fate: Fate): boolean => fate === 'ends' || (fate === 'asked' && revokesAccessTokens);
    if (applies(effects.password)) await tx.manager.getRepository(AuthAccount).delete(credentialOf(userId));
    if (applies(effects.factor)) await tx.run(factorStatements.remove, [userId, now]);
    if (applies(effects.passkeys)) await tx.manager.getRepository(Passkey).delete({ userId });
    if (effects.links !== 'stays')
      await revokeLinks(tx, userId, now, effects.links === 'ends' ? undefined : 'verify-email');
    const sessions = applies(effects.otherSessions)
      ? await this.endSessions(tx, userId, effects.ownSession === 'ends' ? null : ownSession, now)
      : 0;
    if (effects.ownSession === 'renewed' && ownSession !== null)
      await renewSession(tx, { userId, id: ownSession }, newSessionToken);
    const revoked = applies(effects.accessTokens)
      ? await tx.run<{ id: string }>(accessTokenStatements.revokeAll, [userId, now])
      : [];
    return { sessions, accessTokens: revoked.map(({ id }) => id) };
  }

  /** Ends what an ended session may have started: sign-ins that wait for a code, and links that do not confirm an address. */
  async endUnfinished(tx: Tx, userId: string): Promise<void> {
    await revokeLinks(tx, userId, this.clock.now(), 'verify-email');
    await endPendingSignIns(tx.manager.getRepository(AuthVerification), userId);
  }

  /** Makes every instance close the sockets of revoked access tokens; sockets of ended sessions close without this. */
  announce({ accessTokens }: Ended): void {
    for (const key of accessTokens) this.bus.publish({ topic: TOKEN_REVOKED, key });
  }

  private async endSessions(tx: Tx, userId: string, kept: string | null, now: Date): Promise<number> {
    await endPendingSignIns(tx.manager.getRepository(AuthVerification), userId);
    const [ended] = await tx.run<{ sessions: number }>(sessionStatements.endAllBut, [userId, kept, now]);
    return ended?.sessions ?? 0;
  }
}

/** Gives a session a new id, and a new token unless `token` is null. */
async function renewSession(
  { manager }: Tx,
  session: { userId: string; id: string },
  token: string | null,
): Promise<void> {
  const renewed = { id: randomUUID(), ...(token === null ? {} : { token }) };
  await manager.getRepository(AuthSession).update(session, renewed);
}
