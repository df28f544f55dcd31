import { Inject, Injectable } from '@nestjs/common';
import { type Client, MAX_USER_AGENT, type SignedIn } from './browser-sessions.js';
import type { Identity } from './identity.js';
import { IDENTITY } from './identity.provider.js';
import { SESSION_TOKEN_HEADER } from './session-cookie-plugin.js';

/** A user who has been identified. */
export interface Identification {
  readonly userId: string;
  /** When the user gave a password or another factor. */
  readonly confirmedAt: Date;
}

/** Browser sessions that begin without a password, because the person has been identified otherwise. */
@Injectable()
export class NewSessions {
  constructor(@Inject(IDENTITY) private readonly identity: Identity) {}

  /** Begins a session where all sessions begin: suspension, cap and hooks apply. @throws AccountSuspended */
  async begin({ userId, confirmedAt }: Identification, { ip, userAgent }: Client): Promise<SignedIn> {
    const { internalAdapter } = await this.identity.$context;
    const { token } = await internalAdapter.createSession(userId, false, {
      ipAddress: ip,
      userAgent: userAgent.slice(0, MAX_USER_AGENT),
      confirmedAt,
    });
    const asked = new Headers({ [SESSION_TOKEN_HEADER]: token });
    const { headers } = await this.identity.api.sessionCookie({ headers: asked, returnHeaders: true });
    return { userId, token, cookies: headers.getSetCookie() };
  }
}
