import { Injectable } from '@nestjs/common';
import type { IncomingMessage } from 'node:http';
import { AccountSuspended, bearerIn, GeneralLimit, isGranted, type Principal } from '../../access/index.js';
import { Authenticator } from '../auth/index.js';
import { Configuration } from '../../platform/config/index.js';
import {
  addressKey,
  clientAddress,
  CONNECTIONS_PER_ADDRESS,
  Forbidden,
  ServiceUnavailable,
  TooManyRequests,
  Unauthorized,
} from '../../platform/http/index.js';
import { Workspaces } from '../workspaces/index.js';
import type { Admission } from './socket-connection.js';
import { AssetFeed } from './asset-feed.js';
import { Connections } from './connections.js';

const SCOPE = 'documents:read';

/** Per instance, of the 10,000 connections that its server accepts; the rest are for HTTP requests. */
const SOCKETS = 8_000;

/** Per user: a client that reconnects in a loop must not take down the service. */
const SOCKETS_PER_USER = 2_000;

/** Per workspace: the cost of notifying all members of joins and leaves grows quadratically. */
const SOCKETS_PER_WORKSPACE = 1_000;

const ASK_AGAIN_AFTER_S = 10;

/** Authenticates and authorizes a WebSocket upgrade before the 101, with the checks of an HTTP request in the same order. */
@Injectable()
export class UpgradeAuthorizer {
  private isClosed = false;

  constructor(
    private readonly authenticator: Authenticator,
    private readonly limit: GeneralLimit,
    private readonly workspaces: Workspaces,
    private readonly connections: Connections,
    private readonly assets: AssetFeed,
    private readonly configuration: Configuration,
  ) {}

  /** @throws Unauthorized, TooManyRequests, Forbidden, NotFound, ServiceUnavailable */
  async admit(request: IncomingMessage, query: URLSearchParams, workspaceId: string): Promise<Admission> {
    this.requireOpen();
    const principal = await this.authenticate(request, query);
    await this.limit.count(principal);
    if (!isGranted(principal.scopes, [SCOPE])) throw new Forbidden(`the token lacks the scope ${SCOPE}`);
    const id = await this.workspaces.requireOwned(workspaceId, principal);
    return {
      principal,
      workspaceId: id,
      addressKey: addressKey(this.addressOf(request)),
      assetsRevision: await this.assets.revision(id),
    };
  }

  /**
   * Requires room for one more socket, and that since `admit` no shutdown has begun and the session has not ended: both close
   * only the sockets that exist then. Danger: it counts sockets already admitted, so there must be no await between this call and
   * the 101, or concurrent upgrades pass the check together.
   * @throws Unauthorized, ServiceUnavailable, TooManyRequests
   */
  requireRoom({ principal, workspaceId, addressKey: address }: Admission): void {
    this.requireOpen();
    this.authenticator.refuseEnded(principal);
    const { connections, configuration } = this;
    const hasLimits = configuration.rateLimitPerMinute > 0;
    if (
      (hasLimits && connections.countOfAddress(address) >= CONNECTIONS_PER_ADDRESS) ||
      connections.countOf(principal.userId) >= SOCKETS_PER_USER ||
      connections.of(workspaceId).size >= SOCKETS_PER_WORKSPACE
    )
      throw new TooManyRequests(ASK_AGAIN_AFTER_S);
    if (connections.size >= SOCKETS && !connections.makeRoomFor(principal.userId, address))
      throw new ServiceUnavailable('this instance has reached its socket limit', ASK_AGAIN_AFTER_S);
  }

  /** The client's address, as in `request.ip`. */
  addressOf(request: IncomingMessage): string {
    return clientAddress(request, this.configuration.trustProxy);
  }

  /** Refuses all further upgrades. */
  close(): void {
    this.isClosed = true;
  }

  private requireOpen(): void {
    if (this.isClosed) throw new ServiceUnavailable('the service is shutting down', 5);
  }

  private async authenticate(request: IncomingMessage, query: URLSearchParams): Promise<Principal> {
    try {
      const token = tokenOf(request, query);
      if (token === undefined) throw new Unauthorized();
      return await this.authenticator.authenticate(token);
    } catch (error) {
      if (error instanceof Unauthorized || error instanceof AccountSuspended)
        await this.limit.count({ ip: this.addressOf(request) });
      throw error;
    }
  }
}

/** The Authorization header counts, even when it is malformed. The query is for browsers, which cannot set headers here. */
function tokenOf({ headers }: IncomingMessage, query: URLSearchParams): string | undefined {
  if (headers.authorization !== undefined) return bearerIn(headers.authorization);
  const [token, ...more] = query.getAll('token');
  return more.length > 0 || !token ? undefined : token;
}
