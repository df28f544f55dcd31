import { Inject, Injectable } from '@nestjs/common';
import { Configuration } from '../../platform/config/index.js';
import type { Identity } from './identity.js';
import { CLIENT_ADDRESS_HEADER } from './identity-request.js';
import { IDENTITY } from './identity.provider.js';

export interface IdentityAnswer<Body> {
  readonly body: Body;
  /** The values of the Set-Cookie headers. */
  readonly cookies: readonly string[];
}

/** Calls the identity handler in-process as if over HTTP, so that its hooks run and its faults surface as they do for the API. */
@Injectable()
export class IdentityClient {
  constructor(
    @Inject(IDENTITY) private readonly identity: Identity,
    private readonly configuration: Configuration,
  ) {}

  /**
   * Sends a GET, or a POST when there is a body, from the service's own origin. A POST may be refused; the body says so.
   * @param ip the address of the client on whose behalf the call is made
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
      throw new Error(`the identity handler answered ${answer.status} to ${action.replace(/\?.*/, '')}`);
    return { body: (await answer.json()) as Body, cookies: answer.headers.getSetCookie() };
  }
}
