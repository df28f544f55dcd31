import { Injectable } from '@nestjs/common';
import { addressKey, RateLimiter } from '../platform/limits/index.js';

const TRIES_PER_MINUTE = 10;

/** Counts tries at what can be guessed, by address: the API's and those on the pages together. */
@Injectable()
export class GuessLimit {
  constructor(private readonly rateLimiter: RateLimiter) {}

  /** @param action the identity handler's name for it. @throws TooManyRequests after ten tries a minute */
  async count(action: string, ip: string): Promise<void> {
    await this.rateLimiter.hit(`${action}:${addressKey(ip)}`, TRIES_PER_MINUTE);
  }
}
