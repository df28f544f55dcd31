import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { AccountSuspended } from '../../access/index.js';
import { Authenticator, EndedSessions, type Lapsed, TOKEN_REVOKED, USER_SUSPENDED } from '../auth/index.js';
import { EventBus } from '../../platform/events/index.js';
import { Log } from '../../platform/log.js';
import { CloseCode } from './socket-connection.js';
import { Connections } from './connections.js';

const EVERY_MS = 3_000;

/**
 * Closes sockets whose token is no longer valid, whose session has ended or whose user is suspended: at once when an event
 * announces it, otherwise within seconds.
 */
@Injectable()
export class TokenWatch implements OnApplicationBootstrap {
  constructor(
    private readonly connections: Connections,
    private readonly authenticator: Authenticator,
    private readonly endedSessions: EndedSessions,
    private readonly bus: EventBus,
    private readonly log: Log,
  ) {}

  onApplicationBootstrap(): void {
    this.bus.on(TOKEN_REVOKED, (tokenId) => {
      this.connections.closeWhere(({ principal }) => principal.tokenId === tokenId, CloseCode.unauthorized);
    });
    this.endedSessions.onEnded((ended) => {
      this.connections.closeWhere(
        ({ principal: { sessionId } }) => sessionId !== undefined && ended.has(sessionId),
        CloseCode.unauthorized,
      );
    });
    this.bus.on(USER_SUSPENDED, (userId) => {
      this.connections.closeWhere(({ principal }) => principal.userId === userId, CloseCode.suspended);
    });
  }

  @Interval(EVERY_MS)
  async closeLapsed(): Promise<void> {
    if (this.connections.size === 0) return;
    // Tokens also expire while the database is unavailable.
    this.connections.closeWhere(
      ({ principal }) => this.authenticator.isExpired(principal),
      CloseCode.unauthorized,
    );
    await this.log.bestEffort('check the tokens of live sockets', async () => {
      const principals = [...this.connections].map(({ principal }) => principal);
      const lapsed = await this.authenticator.lapsed(principals);
      this.close(lapsed.filter(isSuspended), CloseCode.suspended);
      this.close(lapsed, CloseCode.unauthorized);
    });
  }

  private close(lapsed: readonly Lapsed[], code: CloseCode): void {
    const principals = new Set(lapsed.map(({ principal }) => principal));
    this.connections.closeWhere(({ principal }) => principals.has(principal), code);
  }
}

const isSuspended = ({ refusal }: Lapsed): boolean => refusal instanceof AccountSuspended;
