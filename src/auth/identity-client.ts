import { Inject, Injectable } from '@nestjs/common';
import { Configuration } from '../config/index.js';
import type { Identity } from './identity.js';
import { CLIENT_ADDRESS_HEADER } from './identity-request.js';
import { IDENTITY } from './identity.provider.js';

export interface IdentityAnswer<Body> {
  readonly body: Body;
  /** Set-Cookie headers. */
  readonly cookies: readonly string[];
}

/** The identity handler, asked from within as over HTTP: its hooks run, and its faults are seen, as for the API. */
@Injectable()
export class IdentityClient {
  constructor(
    @Inject(IDENTITY) private readonly identity: Identity,
    private readonly configuration: Configuration,
  ) {}

  /**
   * A GET, or a POST when there is a body, from our own origin. A POST may be refused: its body says so.
   * @param ip the address of the client for whom it is asked
   * @throws when the handler cannot answer
   */
  async ask<Body>(
    action: string,
    ip: string,
    headers: Readonly<Record<string, string>>,
    body?: object,
  ): Promise<IdentityAnswer<Body>> {
    const { publicUrl } = this.configuration;
    const request = new Request(`${publicUrl}/api/auth/${action}`, {
      headers: {
        ...headers,
        [CLIENT_ADDRESS_HEADER]: ip,
        origin: new URL(publicUrl).origin,
        'content-type': 'application/json',
      },
      ...(body ? { method: 'POST', body: JSON.stringify(body) } : {}),
    });
    const answer = await this.identity.handler(request);
    const isBroken = body === undefined ? !answer.ok : answer.status >= 500;
    if (isBroken)
      throw new Error(`the identity handler answers ${answer.status} to ${action.replace(/\?.*/, '')}`);
    return { body: (await answer.json()) as Body, cookies: answer.headers.getSetCookie() };
  }
}
