import { Injectable } from '@nestjs/common';
import { addressKey, networkKey } from '../../platform/http/index.js';
import { RateLimiter } from '../../platform/limits/index.js';

const TRIES_PER_MINUTE = { ofAddress: 10, ofNetwork: 30 };

/** Limits attempts at guessable secrets, by address and by network. The API and the pages share the counts. */
@Injectable()
export class GuessLimit {
  constructor(private readonly rateLimiter: RateLimiter) {}

  /**
   * @param action the identity handler's name for the action
   * @throws TooManyRequests after ten attempts a minute from an IPv4 address or an IPv6 /64, and after thirty from a /48
   */
  async count(action: string, ip: string): Promise<void> {
    await this.rateLimiter.hit(`${action}:${addressKey(ip)}`, TRIES_PER_MINUTE.ofAddress);
    await this.rateLimiter.hit(`${action}:${networkKey(ip)}`, TRIES_PER_MINUTE.ofNetwork);
  }
}
