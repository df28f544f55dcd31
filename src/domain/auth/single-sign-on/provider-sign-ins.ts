import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { MoreThan, Repository } from 'typeorm';
import { Clock } from '../../../platform/clock/index.js';
import { AuthVerification } from '../auth-verification.entity.js';

/** Time to sign in at the provider. The nightly job removes what is left. */
const LIFETIME_MS = 15 * 60_000;

/** The sign-ins that have begun here and continue at the provider, for all instances. A row contains no secret. */
@Injectable()
export class ProviderSignIns {
  constructor(
    @InjectRepository(AuthVerification) private readonly verifications: Repository<AuthVerification>,
    private readonly clock: Clock,
  ) {}

  /**
   * @param key known only to the browser that begins the sign-in
   * @param returnTo the path to which the browser returns afterwards
   */
  async add(key: string, returnTo: string): Promise<void> {
    const now = this.clock.now();
    const expiresAt = new Date(now.getTime() + LIFETIME_MS);
    const begun = { identifier: identifierOf(key), value: returnTo, expiresAt };
    await this.verifications.insert({ ...begun, createdAt: now, updatedAt: now });
  }

  /** Ends a sign-in: each can be taken once. Returns the path, or undefined when there is no such sign-in. */
  async take(key: string): Promise<string | undefined> {
    const begun = { identifier: identifierOf(key), expiresAt: MoreThan(this.clock.now()) };
    const found = await this.verifications.findOneBy(begun);
    if (!found) return undefined;
    const { affected } = await this.verifications.delete({ id: found.id }); // of several requests, one deletes it
    return affected === 1 ? found.value : undefined;
  }
}

const identifierOf = (key: string): string => `single-sign-on:${key}`;
