import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { AuthVerification } from './auth.entities.js';
import type { SignedIn, WaitsForFactor } from './browser-sessions.js';
import { endPendingSignIns, SecondFactors } from './factors/index.js';
import { type Client, columnsOfClient } from './identity-request.js';
import type { Identity } from './identity.js';
import { IDENTITY } from './identity.provider.js';
import { KnownNetworks } from './wrong-passwords.js';
import { SESSION_TOKEN_HEADER, USER_ID_HEADER } from './user-sessions.js';

/** A user who has been identified. */
export interface Identification {
  readonly userId: string;
  /** When the user gave a password or another factor. */
  readonly confirmedAt: Date;
}

/** Begins browser sessions without a password, for users who have been identified otherwise. */
@Injectable()
export class NewSessions {
  constructor(
    @Inject(IDENTITY) private readonly identity: Identity,
    private readonly factors: SecondFactors,
    private readonly networks: KnownNetworks,
    @InjectRepository(AuthVerification) private readonly verifications: Repository<AuthVerification>,
  ) {}

  /**
   * Begins a session through the identity handler, so suspension, cap and hooks apply. With a second factor there is no session
   * before the code: the cookies then identify the pending sign-in. @throws AccountSuspended
   */
  async begin({ userId, confirmedAt }: Identification, client: Client): Promise<SignedIn | WaitsForFactor> {
    if ((await this.factors.codesLeft(userId)) !== null) return this.wait(userId);
    const { internalAdapter } = await this.identity.$context;
    const session = { ...columnsOfClient(client), confirmedAt };
    const { token } = await internalAdapter.createSession(userId, false, session);
    await this.networks.note(userId, client.ip, client.userAgent);
    const asked = new Headers({ [SESSION_TOKEN_HEADER]: token });
    const { headers } = await this.identity.api.sessionCookie({ headers: asked, returnHeaders: true });
    return { userId, token, cookies: headers.getSetCookie() };
  }

  /** Ends a session, or a pending sign-in, whose cookies were not sent. */
  async undo(userId: string, begun: SignedIn | WaitsForFactor): Promise<void> {
    if ('needsFactor' in begun) await endPendingSignIns(this.verifications, userId);
    else await (await this.identity.$context).internalAdapter.deleteSession(begun.token);
  }

  private async wait(userId: string): Promise<WaitsForFactor> {
    const asked = new Headers({ [USER_ID_HEADER]: userId });
    const { headers } = await this.identity.api.waitForCode({ headers: asked, returnHeaders: true });
    return { needsFactor: true, cookies: headers.getSetCookie() };
  }
}
